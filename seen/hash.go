package seen

import (
	"github.com/zeebo/xxh3"

	"freshet/weburl"
)

// secondSeed makes a hash that is independent of the fingerprint's. Checks on disk depend on it, so it never changes.
const secondSeed = 0x7365656e

// secondHash returns a second hash of a URL beside its fingerprint. The cache identifies URLs by it. The buffer and
// the set use some bits of it to distinguish two URLs with the same fingerprint, so that one cannot hide the other.
// It is never 0. It does not allocate.
func secondHash(u weburl.URL) weburl.Fingerprint {
	return max(1, weburl.Fingerprint(xxh3.HashStringSeed(u.String(), secondSeed)))
}

// checkOf returns the byte of a second hash that goes to the set.
func checkOf(second weburl.Fingerprint) uint8 { return uint8(second >> 56) }
