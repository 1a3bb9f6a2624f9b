package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// words are runs of letters, digits, marks and underscores, like Python's \w.
var words = regexp.MustCompile(`[\p{L}\p{N}\p{Mn}\p{Mc}_]+`)

// bag counts things.
type bag map[string]int

func wordsOf(said string) bag {
	counted := bag{}
	for _, word := range words.FindAllString(strings.ToLower(said), -1) {
		counted[word]++
	}
	return counted
}

// shinglesOf counts runs of four words.
func shinglesOf(said string) bag {
	const long = 4
	all := words.FindAllString(said, -1)
	counted := bag{}
	for i := range max(1, len(all)-long+1) {
		if run := all[i:min(i+long, len(all))]; len(run) > 0 {
			counted[strings.Join(run, " ")]++
		}
	}
	return counted
}

func (b bag) size() (n int) {
	for _, times := range b {
		n += times
	}
	return n
}

func (b bag) shared(other bag) (n int) {
	for one, times := range b {
		n += min(times, other[one])
	}
	return n
}

// sum adds up scores of pages.
type sum struct{ precision, recall, f1, pages float64 }

func (s *sum) add(precision, recall, f1 float64) {
	s.precision, s.recall, s.f1, s.pages = s.precision+precision, s.recall+recall, s.f1+f1, s.pages+1
}

// harmonic is the F1 of a precision and a recall.
func harmonic(p, r float64) float64 {
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}

// reportWords scores by words, as WCXB does, and reports the mean over pages.
func reportWords(w io.Writer, pages []*page) {
	sums := map[string]*sum{}
	for _, p := range pages {
		got, want := wordsOf(p.got), wordsOf(p.want)
		var precision, recall float64
		switch both := float64(got.shared(want)); {
		case len(got) == 0 && len(want) == 0:
			precision, recall = 1, 1
		case len(got) > 0 && len(want) > 0:
			precision, recall = both/float64(got.size()), both/float64(want.size())
		}
		half := "even numbers"
		if (p.name[len(p.name)-1]-'0')%2 == 1 {
			half = "odd numbers"
		}
		for _, group := range []string{"all", half, p.kind} {
			if sums[group] == nil {
				sums[group] = &sum{}
			}
			sums[group].add(precision, recall, harmonic(precision, recall))
		}
	}
	fmt.Fprintf(w, "%-14s %5s  precision  recall     F1\n", "", "pages")
	for _, group := range []string{"all", "even numbers", "odd numbers", "article", "documentation", "service", "forum", "collection", "listing", "product"} {
		if s := sums[group]; s != nil {
			fmt.Fprintf(w, "%-14s %5.0f     %.4f   %.4f  %.4f\n", group, s.pages, s.precision/s.pages, s.recall/s.pages, s.f1/s.pages)
		}
	}
}

// reportShingles scores by runs of four words: the F1 of the mean precision and the mean recall.
func reportShingles(w io.Writer, pages []*page) {
	var precision, recall sum
	for _, p := range pages {
		got, want := shinglesOf(p.got), shinglesOf(p.want)
		both := float64(got.shared(want))
		if n := got.size(); n > 0 {
			precision.add(both/float64(n), 0, 0)
		}
		if n := want.size(); n > 0 {
			recall.add(0, both/float64(n), 0)
		}
	}
	p, r := precision.precision/precision.pages, recall.recall/recall.pages
	fmt.Fprintf(w, "%d pages: precision %.4f, recall %.4f, F1 %.4f\n", len(pages), p, r, harmonic(p, r))
}
