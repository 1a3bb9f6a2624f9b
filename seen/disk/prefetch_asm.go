//go:build amd64 || arm64

package disk

import "unsafe"

// prefetch has the processor load what p points to into its cache. It waits for nothing, as any other load does in the
// end: so there can be more under way than the processor sees ahead.
//
//go:noescape
func prefetch(p unsafe.Pointer)
