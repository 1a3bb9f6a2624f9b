package seen

import (
	"freshet/weburl"
)

// Sender filters links on their way to the owner of another partition, because most repeat what was sent recently. It
// has the same cache as a Test, on the other side of the wire.
//
// It identifies a URL by its fingerprint alone. A URL among its entries hides another one with a probability of
// entries/2⁶⁴: with 65,536, one in 3·10¹⁴.
//
// A link passes if its URL was not sent recently, or only at a greater depth. With cash, the cash of other links is
// held back and passes in larger sums, see weburl.Purse. What is held back when the URL leaves the cache is lost. A
// Sender is a pure state machine and not for concurrent use.
type Sender struct{ recent recent }

// NewSender returns an empty Sender that remembers this many links. It panics unless entries is 1 to MaxCache. An
// entry takes 10 bytes, with cash 18.
func NewSender(entries int, cash bool) *Sender { return &Sender{newRecent(entries, cash)} }

// Offer appends to dst the links that must be sent. O(1) per link.
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
