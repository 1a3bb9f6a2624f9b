package fetch

import "fmt"

// Outcome is how a fetch ended. A refusal by the server is an answer like any other. The other outcomes say why no
// whole answer arrived.
type Outcome uint8

// The outcomes. The zero value is none of them.
const (
	Answered       Outcome = iota + 1 // a whole HTTP response, whatever its status
	Cut                               // header parsed, body not whole: Result.Truncated says why
	DNSFailed                         // the host has no address, or no name server answered
	Refused                           // Guard refuses every address of the host
	ConnectFailed                     // no connection: refused, unreachable
	TLSFailed                         // the handshake failed: wrong name, expired, no common version
	TimedOut                          // time ran out before the header was whole: Result.Phase says where
	Disconnected                      // the server closed or reset before the header was whole
	Malformed                         // what came is not HTTP/1, or contradicts itself
	HeaderTooLarge                    // the header passed MaxHeader or MaxHeaderLines
	Canceled                          // the caller's context ended
	Unwanted                          // header parsed, and Request.Wanted declined the body
	Crashed                           // the crawler failed on the answer; set by callers only
	outcomes
)

// String returns the outcome as one lower-case word with hyphens, fit for a metric's label.
func (o Outcome) String() string {
	switch o {
	case Answered:
		return "answered"
	case Cut:
		return "cut"
	case DNSFailed:
		return "dns-failed"
	case Refused:
		return "refused-address"
	case ConnectFailed:
		return "connect-failed"
	case TLSFailed:
		return "tls-failed"
	case TimedOut:
		return "timed-out"
	case Disconnected:
		return "disconnected"
	case Malformed:
		return "malformed"
	case HeaderTooLarge:
		return "header-too-large"
	case Canceled:
		return "canceled"
	case Unwanted:
		return "unwanted-type"
	case Crashed:
		return "crash"
	}
	return fmt.Sprintf("outcome-%d", uint8(o))
}

// Phase is the part of a fetch in which it ended.
type Phase uint8

// The phases, in order.
const (
	PhaseDNS     Phase = iota + 1 // asking for the host's address
	PhaseConnect                  // connecting
	PhaseTLS                      // shaking hands
	PhaseRequest                  // writing the request, waiting for the first byte of the answer
	PhaseHeader                   // reading the header
	PhaseBody                     // reading the body
	PhaseDone                     // nothing was left to do
)

// String returns the phase as one lower-case word.
func (p Phase) String() string {
	switch p {
	case PhaseDNS:
		return "dns"
	case PhaseConnect:
		return "connect"
	case PhaseTLS:
		return "tls"
	case PhaseRequest:
		return "request"
	case PhaseHeader:
		return "header"
	case PhaseBody:
		return "body"
	case PhaseDone:
		return "done"
	}
	return fmt.Sprintf("phase-%d", uint8(p))
}

// Truncation is why a body is not whole, in the words of the WARC-Truncated field. It is "" for a whole body.
type Truncation string

// The reasons.
const (
	TruncatedLength      Truncation = "length"      // longer than MaxBody
	TruncatedTime        Truncation = "time"        // the time for the whole fetch ran out
	TruncatedDisconnect  Truncation = "disconnect"  // the connection was closed or reset
	TruncatedUnspecified Truncation = "unspecified" // the body's framing was broken, or the caller gave up
)
