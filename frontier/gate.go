package frontier

import (
	"hash/fnv"
	"time"

	"freshet/weburl"
)

// Gate is a host's politeness as it is stored, in the record of the fetch that set it.
type Gate struct {
	End      time.Time     // of the host's last answer; zero: none yet
	Next     time.Time     // earliest start of the next connection
	Interval time.Duration // the wait between two connections, without back-off
	Failures int           // in a row
	Blocked  time.Time     // blocked by an operator until then; zero: not blocked; 2262 and later: forever
}

func (h *host) gate() Gate {
	return Gate{End: h.end.time(), Next: h.next.time(), Interval: h.interval, Failures: int(h.failures),
		Blocked: h.blocked.time()}
}

// Gate returns the gate of a host as it is now; ok is false if the frontier does not hold the host. O(1).
func (f *Frontier) Gate(host string) (g Gate, ok bool) {
	h := f.hosts[weburl.HostName(host)]
	if h == nil {
		return Gate{}, false
	}
	return h.gate(), true
}

// close shuts the host's gate after an answer. If the request was Unheard, an earlier wait stays in force, because
// nothing is known about the host.
func (h *host) close(o *Options, a Answer, end instant) {
	if h.untold = a.Unheard; a.Unheard {
		h.interval = max(h.interval, h.delay, h.crawlDelay)
		h.end, h.next = end, max(h.next, end.after(h.interval))
		return
	}
	h.interval = o.interval(max(h.delay, h.crawlDelay), a.Took)
	wait := h.interval
	h.failures = min(h.failures+1, 1<<20)
	if !a.Failed {
		h.failures = 0
	}
	wait = max(wait, backoff(h.name, int(h.failures), h.interval), min(a.RetryAfter, MaxRetryAfter))
	h.end = end
	h.next = end.after(wait)
}

// interval returns the wait after an answer that took took, on a host with this delay.
func (o *Options) interval(delay, took time.Duration) time.Duration {
	adaptive := min(o.AdaptiveDelay*float64(took), float64(MaxBackoff))
	return max(delay, time.Duration(adaptive))
}

// backoff returns the wait after failures in a row. The first wait is twice the interval, or two seconds if that is
// longer. Each further failure doubles it, up to MaxBackoff. backoff then subtracts up to half of the wait. The share
// subtracted is a hash of host and failures: hosts that failed together come back at different times, and the same
// history gives the same waits.
func backoff(host string, failures int, interval time.Duration) time.Duration {
	if failures == 0 {
		return 0
	}
	wait := max(interval, time.Second)
	for range failures {
		if wait *= 2; wait >= MaxBackoff {
			wait = MaxBackoff
			break
		}
	}
	sum := fnv.New64a()
	sum.Write([]byte(host))
	sum.Write([]byte{byte(failures >> 16), byte(failures >> 8), byte(failures)})
	share := float64(sum.Sum64()>>11) / (1 << 54)
	return wait - time.Duration(share*float64(wait))
}

// reopen applies a stored gate at now. The clock that stored it may have been behind by as much as behind. If that
// clock was ahead, reopen neither lengthens nor shortens the wait.
func (h *host) reopen(g Gate, now instant, behind time.Duration) {
	h.end = max(h.end, min(at(g.End), now))
	h.interval = max(h.interval, min(g.Interval, MaxCrawlDelay))
	h.failures = max(h.failures, int32(min(max(g.Failures, 0), 1<<20)))
	h.blocked = max(h.blocked, at(g.Blocked))
	if wait := min(at(g.Next)-at(g.End), instant(MaxCrawlDelay)); wait > 0 {
		h.next = max(h.next, min(at(g.Next).after(behind), now.after(time.Duration(wait))))
	}
}
