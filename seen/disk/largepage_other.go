//go:build unix && !linux

package disk

// preferLargePages does nothing.
func preferLargePages([]byte) {}

// take does nothing: what is looked at is read.
func take([]byte) {}
