package text

import "github.com/zeebo/xxh3"

// MainVersion numbers the rules of MainDigest. It is stored beside a digest, and is no extract.TextVersion.
const MainVersion = 129

// MainDigest returns the XXH3-128 of the main text by the blocks of the page alone, and whether it has one. It says
// whether the page has changed, where navigation, heads and feet do not count.
func (p *Page) MainDigest() (digest [16]byte, ok bool) {
	main := p.Main(nil)
	return xxh3.HashString128(main).Bytes(), main != ""
}
