//go:build unix && !linux

package disk

// preferLargePages does nothing.
func preferLargePages([]byte) {}
