// Package fetch asks sites for pages and keeps what was said on the wire.
//
// A Fetcher speaks HTTP/1.1 itself, over connections of its own, because an archive needs the bytes
// that really came and a polite crawler needs to know which connection carried them. One call of Fetch
// is one request and one Result; whatever happens on the way (no address, a broken handshake, half a
// body) is an Outcome in the Result and not an error. A redirect is a result too: where it points is
// one more page for the frontier, with gates of its own.
//
// The life of a fetch:
//
//	Resolve ─► Guard ─► connection ─► request ─► header ─► body ─► Result
//	 names      address   idle, or     as         interim    length,
//	 cache      rules     dial, TLS    written    and final  chunks, close
//
// Resolve can be called first, so that the caller may ask leave of the address it gives; Fetch then
// connects to that address and to no other. Guard stands behind every look-up, overrides and literal
// addresses included, and again before every connection, so that neither a redirect nor a name
// server can lead a crawler into the network that it runs in.
//
// The response is read into one slice, which is ResponseBytes in the end; the header's strings and,
// except behind chunks, the Body are copies or parts of it. Everything is bounded: header bytes and
// lines, interim responses, chunk lines, trailers, the body, the time of every phase. A body that is
// cut short is kept with the reason in the words of the WARC format. Bodies up to 256 KiB are read
// freely; a longer one first asks a budget, shared by all fetches, for all that it may become, and
// gives it back with Result.Release.
//
// At most one connection a site waits, open, for its next request. Connections, look-ups and TLS
// sessions are what a Fetcher remembers; all three are bounded. It starts no goroutines that outlive
// a call.
//
// What an answer asks of crawlers is read here as well: Result.RetryAfter. Decode undoes content codings, to a limit.
package fetch
