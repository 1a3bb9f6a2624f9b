package seen

import (
	"freshet/weburl"
)

// Sender holds back links that leave for the owner of another partition, of which most repeat what was sent lately. It
// is the same cache as that of a Test, on the other side of the wire.
//
// It knows a URL by its fingerprint alone. That of another URL among its entries hides a link with a probability of
// entries/2⁶⁴: with 65,536, one in 3·10¹⁴.
//
// A link passes when its URL was not sent lately, or only at a greater depth. With cash, what others bring passes in
// lots, as a weburl.Purse makes them; what is held back when the URL leaves the cache is lost. A Sender is a pure state
// machine and not for concurrent use.
type Sender struct{ recent recent }

// NewSender returns an empty Sender that remembers so many links, or panics unless they are 1 to MaxCache. An entry
// takes 10 bytes, with cash 18.
func NewSender(entries int, cash bool) *Sender { return &Sender{newRecent(entries, cash)} }

// Offer appends to dst those of the links that are to be sent. O(1) a link.
func (s *Sender) Offer(dst, links []weburl.Link) []weburl.Link {
	for _, link := range links {
		settled, lot := s.recent.note(link.Fingerprint, &link)
		if settled && lot == 0 {
			continue
		}
		if s.recent.purses != nil {
			link.Cash = lot
		}
		dst = append(dst, link)
	}
	return dst
}
