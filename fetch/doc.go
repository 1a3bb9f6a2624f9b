// Package fetch requests pages from sites and keeps the bytes that were exchanged.
//
// A Fetcher speaks HTTP/1.1 itself, over its own connections. An archive needs the bytes that really came, and a
// polite crawler needs to know which connection carried them. One call of Fetch is one request and one Result. A
// failure on the way (no address, a broken handshake, half a body) is an Outcome in the Result and not an error. A
// redirect is a result too: its target is another page for the frontier, with its own gates.
//
// The life of a fetch:
//
//	Resolve ─► Guard ─► connection ─► request ─► header ─► body ─► Result
//	 names      address   idle, or     as         interim    length,
//	 cache      rules     dial, TLS    written    and final  chunks, close
//
// The caller can call Resolve first, to wait for the gate of the address. Fetch then connects to that address and
// to no other. Guard checks every look-up, including overrides and literal addresses, and checks again before every
// connection. So neither a redirect nor a name server can lead the crawler into its own network.
//
// The response is read into one slice, which becomes ResponseBytes. The header's strings are copies or parts of it,
// and so is the Body unless it is chunked. Everything is bounded: header bytes and lines, interim responses, chunk
// lines, trailers, the body, the time of every phase. A body that is cut short is kept, with the reason in the
// words of the WARC format. The first 32 KiB of a response are free. A longer one takes memory from a budget that
// all fetches share. Result.Drop returns it.
//
// At most one open connection a site waits for the next request. A Fetcher remembers connections, look-ups and TLS
// sessions; all three are bounded. It starts no goroutine that outlives a call.
//
// Result.RetryAfter reads how long a server asks to be left alone. Decode undoes content codings, up to a limit.
package fetch
