package seen

import (
	"freshet/weburl"
)

// Sender holds back links that leave for the owner of another partition, of which most repeat what was
// sent lately. It is the same cache as that of a Test, on the other side of the wire. A crawl of one process owns
// all of its partitions and needs none; the experiment on caches measures what it would save between several.
//
// It knows a URL by its fingerprint alone. That of another URL among its entries hides a link with a probability
// of entries/2⁶⁴: with 65,536, one in 3·10¹⁴.
//
// A link passes when its URL was not sent lately, or only at a greater depth. With repeats, what is held
// back is added up by URL: it passes, as one link, when the URL has to leave the cache, or by Flush. A
// Sender is a pure state machine and not for concurrent use.
type Sender struct {
	policy *SetClock
	lowest []uint16 // depth that each slot's link was sent with
	sums   []sum    // of what each slot holds back; nil without repeats
}

// sum is links of one URL, added up.
type sum struct {
	links int
	weburl.Link
}

// NewSender returns an empty Sender that remembers so many links, or panics unless they are 1 to
// MaxCache. repeats asks for the cash of what is held back. An entry takes 10 bytes, with repeats some
// 90 more and the URL.
func NewSender(entries int, repeats bool) *Sender {
	s := &Sender{policy: NewSetClock(entries)}
	s.lowest = make([]uint16, s.policy.Slots())
	if repeats {
		s.sums = make([]sum, s.policy.Slots())
	}
	return s
}

// Offer appends to dst what must be sent now that links are to leave: those of them that pass, and the sums
// of what they push out. O(1) a link.
func (s *Sender) Offer(dst, links []weburl.Link) []weburl.Link {
	for _, link := range links {
		slot, hit := s.policy.Touch(link.Fingerprint)
		switch {
		case !hit:
			dst = append(s.release(dst, slot), link)
			s.lowest[slot] = link.Depth
		case link.Depth < s.lowest[slot]:
			dst = append(dst, link)
			s.lowest[slot] = link.Depth
		case s.sums != nil:
			s.sums[slot].add(link)
		}
	}
	return dst
}

// Flush appends to dst all sums that are held back. Call it now and then, and before the owner changes.
// O(entries).
func (s *Sender) Flush(dst []weburl.Link) []weburl.Link {
	for slot := range s.sums {
		dst = s.release(dst, slot)
	}
	return dst
}

// release appends a slot's sum, if there is one, and forgets it.
func (s *Sender) release(dst []weburl.Link, slot int) []weburl.Link {
	if s.sums != nil && s.sums[slot].links > 0 {
		dst = append(dst, s.sums[slot].Link)
		s.sums[slot] = sum{}
	}
	return dst
}

func (s *sum) add(link weburl.Link) {
	if s.links++; s.links == 1 {
		s.Link = link
		return
	}
	s.Cash += link.Cash
	s.Depth = min(s.Depth, link.Depth)
	s.Hops = min(s.Hops, link.Hops)
	s.LastMod = max(s.LastMod, link.LastMod)
}
