package broder

import (
	"math"

	"freshet/lab"
)

// gap returns the largest distance of curve a above curve b and the size, at least 2^6, where it occurs.
func (s *study) gap(a, b string) (most float64, log int) {
	above, below := s.rates(a), s.rates(b)
	most = math.Inf(-1)
	for i := range s.logs {
		if d := above[i] - below[i]; s.logs[i] >= 6 && d > most {
			most, log = d, s.logs[i]
		}
	}
	return most, log
}

// edge returns the doubling of the size that saves the largest share of CLOCK's misses, and that share.
func (s *study) edge() (log int, share float64) {
	rates := s.rates("clock")
	for i := 1; i < len(rates); i++ {
		if saved := 1 - rates[i]/rates[i-1]; rates[i-1] > 0 && saved > share {
			log, share = s.logs[i], saved
		}
	}
	return log, share
}

// claims checks the paper's claims on the study, and the bounds.
func (s *study) claims(out *lab.Result) {
	clock, lru, least, random, static := s.rates("clock"), s.rates("lru"), s.rates("min"), s.rates("random"), s.rates("static")
	if clock == nil || lru == nil || least == nil || random == nil || static == nil {
		return
	}
	claim := func(text string, holds bool, evidence string, args ...any) {
		out.Claim(s.name+": "+text, holds, evidence, args...)
	}
	s.bounds(claim)

	over, overAt := s.gap("lru", "clock")
	under, underAt := s.gap("clock", "lru")
	claim("LRU and CLOCK miss almost equally", max(over, under) < 0.01,
		"LRU misses at most %.4f more (at 2^%d) and %.4f less (at 2^%d), from 2^6 on", over, overAt, under, underAt)

	worse, worseAt := s.gap("random", "lru")
	better, betterAt := s.gap("lru", "random")
	claim("RANDOM is slightly worse than LRU", worse > 0 && worse < 0.06 && better < 0.005,
		"at most %.4f worse (at 2^%d), %.4f better (at 2^%d)", worse, worseAt, better, betterAt)

	at, share := s.edge()
	sharp := share > 0.4
	claim("there is a critical size: much worse below, little better above", sharp,
		"the largest step is from 2^%d to 2^%d, which saves %.0f %% of CLOCK's misses", at-1, at, 100*share)

	far, farAt := 0.0, 0
	for i, log := range s.logs {
		if d := clock[i] - least[i]; (log < at-2 || log > at+1) && d > far {
			far, farAt = d, log
		}
	}
	claim("CLOCK is close to MIN away from the critical size", far < 0.05, "at most %.4f above (at 2^%d)", far, farAt)

	i := indexOf(s.logs, at)
	claim("STATIC is much worse at the critical size", i >= 0 && static[i] > 1.5*clock[i], "%.4f against %.4f at 2^%d", static[max(i, 0)], clock[max(i, 0)], at)

	if low, high := indexOf(s.logs, 15), indexOf(s.logs, 16); low >= 0 && high >= 0 {
		claim("some 50,000 entries answer 80 % of the requests", 1-clock[high] >= 0.78,
			"CLOCK answers %.1f %% with 2^15, %.1f %% with 2^16", 100*(1-clock[low]), 100*(1-clock[high]))
	}
}

// bounds checks what must hold on every trace.
func (s *study) bounds(claim func(text string, holds bool, evidence string, args ...any)) {
	least := s.rates("min")
	beaten, unequal := 0, 0
	for _, c := range s.curves {
		if c.policy == "static" {
			continue
		}
		for i, log := range s.logs {
			if c.rates[i] < least[i] {
				beaten++
			}
			if 1<<log >= s.distinct && c.policy != "clock-set" && c.rates[i] != s.infinite() {
				unequal++
			}
		}
	}
	claim("no policy but STATIC misses less than MIN", beaten == 0, "%d of %d points lie below", beaten, len(s.curves)*len(s.logs))
	claim("all policies are INFINITE once all URLs fit", unequal == 0, "%d points differ from %.4f (clock-set, whose sets may overflow, left out)", unequal, s.infinite())
}

func indexOf(logs []int, log int) int {
	for i, l := range logs {
		if l == log {
			return i
		}
	}
	return -1
}
