package text

import "github.com/zeebo/xxh3"

// MainVersion numbers the rules of MainDigest. It is stored beside a digest, and differs from every
// extract.TextVersion.
const MainVersion = 131

// MainDigest returns the XXH3-128 of the main text from the page's blocks alone. ok is false if there is none. It is
// a change signal that ignores navigation, heads and feet.
func (p *Page) MainDigest() (digest [16]byte, ok bool) {
	main := p.Main(nil)
	return xxh3.HashString128(main).Bytes(), main != ""
}
