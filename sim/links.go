package sim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// targetKind is the kind of target of a link.
type targetKind uint8

const (
	toPage     targetKind = iota
	toMoved               // a permanent redirect to a page
	toSeeOther            // a temporary redirect to a page
	toDead                // nothing
	toError               // a server error
)

// target is where a link leads. A redirect has the number of the page that it leads to.
type target struct {
	site *site
	page int
	kind targetKind
}

const (
	medianLinks  = 17
	linkSigma    = 1.0
	mostLinks    = 200
	repeatShare  = 0.30 // chance that a link is followed by a repeat of an earlier one
	nearDistance = 12   // mean, in page numbers
)

// links returns the links in the body of a page, in order, including repeats: to its parent, to its children that have
// appeared, and then to others, which do not depend on time. Links to pages that have vanished stay.
func (s *site) links(page int, elapsed time.Duration) []target {
	rng := rand.New(rand.NewPCG(s.key(page, aspectLinks), 2))
	var links []target
	if page > 0 {
		links = append(links, target{site: s, page: s.parent(page)})
	}
	first, end := s.childrenOf(page)
	for child := first; child < end; child++ {
		if born, _ := s.life(child); born <= max(elapsed, 0) {
			links = append(links, target{site: s, page: child})
		}
	}
	want := int(min(medianLinks*math.Exp(linkSigma*rng.NormFloat64()), mostLinks))
	var others []target
	for range want - (end - first) {
		others = append(others, s.drawTarget(page, rng))
		for rng.Float64() < repeatShare {
			others = append(others, others[rng.IntN(len(others))])
		}
	}
	return append(links, others...)
}

// drawTarget draws one link across the tree. 85 % lead to the same site: to its first pages, near pages, or any. The
// others lead to homes and pages of any site. One link in 40 does not lead straight to a page: it is a redirect, a dead
// link or an error.
func (s *site) drawTarget(page int, rng *rand.Rand) target {
	t := target{site: s}
	switch u := rng.Float64(); {
	case u < 0.35:
		t.page = rng.IntN(min(s.pages, 10))
	case u < 0.65:
		distance := int(nearDistance * rng.ExpFloat64())
		if rng.IntN(2) == 0 {
			distance = -distance
		}
		t.page = min(max(page+distance, 0), s.pages-1)
	case u < 0.85:
		t.page = rng.IntN(s.pages)
	default:
		t.site = s.web.sites[rng.IntN(len(s.web.sites))]
		if rng.Float64() < 0.4 {
			t.page = rng.IntN(t.site.pages)
		}
	}
	switch rng.IntN(160) {
	case 0:
		t.kind = toMoved
	case 1:
		t.kind = toSeeOther
	case 2:
		t.kind = toDead
	case 3:
		t.kind = toError
	}
	if born, _ := t.site.life(t.page); born > 0 {
		t.page = t.site.parent(t.page) // nobody links to what is not there yet
	}
	return t
}

// Prefixes of the paths that are no pages.
const (
	movedPrefix    = "/moved/"
	seeOtherPrefix = "/go/"
	deadPrefix     = "/gone/"
	errorPrefix    = "/error/"
	picturePrefix  = "/pictures/"
	sitemapPrefix  = "/sitemap-"
)

// path returns the path of a link's target on its site.
func (t target) path() string {
	number := strconv.Itoa(t.page)
	switch t.kind {
	case toMoved:
		return movedPrefix + number
	case toSeeOther:
		return seeOtherPrefix + number
	case toDead:
		return deadPrefix + number
	case toError:
		return errorPrefix + number
	}
	return t.site.path(t.page)
}

// numbered returns the number in a path of the form prefix + number + suffix, below limit.
func numbered(path, prefix, suffix string, limit int) (n int, ok bool) {
	digits, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, suffix); !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && n < limit && strconv.Itoa(n) == digits
}

// trailingNumber returns the number between a path's last hyphen and suffix.
func trailingNumber(path, suffix string) (n int, ok bool) {
	hyphen := strings.LastIndexByte(path, '-')
	return numbered(path[hyphen+1:], "", suffix, math.MaxInt)
}
