package discovery

import (
	"math"
	"time"

	"freshet/frontier"
	"freshet/weburl"
)

// A page's fingerprint is its number plus one: no fingerprint is 0.
func fingerprint(n uint32) weburl.Fingerprint { return weburl.Fingerprint(n) + 1 }

func number(f weburl.Fingerprint) uint32 { return uint32(f - 1) }

// PageOf returns the number of the page that a link leads to. An oracle's Ordering looks the page's value up by it.
func PageOf(l weburl.Link) uint32 { return number(l.Fingerprint) }

// siteOf returns the number of a page's site. The site's name contains it.
func (c *crawl) siteOf(p frontier.Page) uint32 {
	if !p.Robots {
		return c.web.SiteOf(number(p.Fingerprint))
	}
	var n uint32
	for _, digit := range p.Site.Host()[:9] {
		n = 10*n + uint32(digit-'0')
	}
	return n
}

// instant returns the frontier's time at a number of seconds from the start, to the nanosecond.
func instant(s float64) time.Time {
	whole := math.Floor(s)
	return epoch.Add(time.Duration(whole)*time.Second + time.Duration(math.Round((s-whole)*1e9)))
}

// seconds returns the earliest number of seconds whose instant is not before t.
func seconds(t time.Time) float64 {
	d := t.Sub(epoch)
	s := float64(d/time.Second) + float64(d%time.Second)/1e9
	for instant(s).Before(t) {
		s = math.Nextafter(s, math.Inf(1))
	}
	return s
}
