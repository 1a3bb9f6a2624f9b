//go:build !amd64 && !arm64

package disk

import "unsafe"

// prefetch does nothing: other processors load what they look at.
func prefetch(unsafe.Pointer) {}
