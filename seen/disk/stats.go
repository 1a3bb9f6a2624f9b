package disk

import (
	"fmt"
	"strings"
)

// Stats are the sizes and counters of a set.
type Stats struct {
	Known     int64
	Runs      int
	Segments  int
	HeadBytes int64 // memory for the heads
	DiskBytes int64 // runs and journal
	PeakBytes int64 // the most that runs and journal have taken since Open
	Written   int64 // bytes written since Open
	Reads     int64 // of blocks by lookups since Open
}

// Stats returns the present figures. O(segments).
func (s *Set) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	stats := Stats{Known: s.state.Known, Runs: len(s.runs), Written: s.written.Load(), Reads: s.read.Load()}
	for _, r := range s.runs {
		for _, g := range r.segments {
			stats.Segments++
			stats.DiskBytes += g.size
			for i := range g.sections {
				stats.HeadBytes += g.sections[i].memory()
			}
		}
	}
	if s.journal != nil {
		stats.DiskBytes += s.journal.size
	}
	stats.PeakBytes = max(s.peak.Load(), stats.DiskBytes)
	return stats
}

// String lists the runs, the newest first, by their entries.
func (s *Set) String() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var text strings.Builder
	for _, r := range s.runs {
		fmt.Fprintf(&text, "%d in %d segments\n", r.entries(), len(r.segments))
	}
	return text.String()
}
