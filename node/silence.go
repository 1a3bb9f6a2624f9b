package node

import (
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"freshet/clock"
	"freshet/fetch"
)

// silence notices when no site answers, as without a network. Requests that fail one after the other are not enough:
// at the end of a crawl only dead sites may be left. Several hosts that have answered in this run must fail, or all if
// they are few. It is safe for concurrent use.
type silence struct {
	clock  *clock.Clock
	logger *slog.Logger

	mu       sync.Mutex
	seed     maphash.Seed
	answered [1 << 16]bool   // whether a host has answered in this run, by its hash
	hosts    int             // that have
	since    time.Time       // the first failure after the last answer
	failed   int             // requests since then
	lost     map[uint64]bool // hosts that had answered, and failed since then; up to silentHosts
	last     error           // of the last failed request
	told     bool
}

// When the log says that no site answers.
const (
	silentRequests = 3           // that failed in a row
	silentHosts    = 3           // that had answered, and failed; fewer if fewer had answered
	silentTime     = time.Minute // of the machine, since the first failure
)

func newSilence(c *clock.Clock, logger *slog.Logger) *silence {
	return &silence{clock: c, logger: logger, seed: maphash.MakeSeed(), lost: map[uint64]bool{}}
}

// ended records the result of a request to a host.
func (s *silence) ended(host string, r *fetch.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := maphash.String(s.seed, host) % uint64(len(s.answered))
	now := s.clock.Now()
	switch r.Outcome {
	case fetch.Canceled, fetch.Refused, fetch.Crashed: // they say nothing of the host
	case fetch.DNSFailed, fetch.ConnectFailed, fetch.TimedOut, fetch.Disconnected:
		if r.Unheard() {
			return
		}
		if s.failed == 0 {
			s.since = now
		}
		s.failed++
		s.last = r.Err
		if s.answered[number] && len(s.lost) < silentHosts {
			s.lost[number] = true
		}
	default:
		if s.told {
			s.logger.Warn("sites answer again", "first", host, "silent_for", now.Sub(s.since).Round(time.Second))
		}
		if !s.answered[number] {
			s.answered[number] = true
			s.hosts++
		}
		s.failed, s.told = 0, false
		clear(s.lost)
	}
}

// look logs once that no site answers.
func (s *silence) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.told || s.failed < silentRequests || len(s.lost) < min(s.hosts, silentHosts) || now.Sub(s.since) < s.clock.Span(silentTime) {
		return
	}
	s.told = true
	s.logger.Warn("no site answers: check the network, for example with freshet doctor, and whether the servers are up; the crawl goes on trying",
		"for", now.Sub(s.since).Round(time.Second), "failed_requests", s.failed, "last", s.last)
}
