//go:build !unix

package disk

// reserve returns nil: the heads stay in the collector's heap.
func reserve(int) []byte { return nil }

func release([]byte) error { return nil }
