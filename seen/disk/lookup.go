package disk

import "sort"

// Answer is the answer to one question.
type Answer struct {
	Asked uint16 // the depth at which the URL was met, which comes with the question
	Depth uint16 // of a known URL, the lowest depth; if that is at most Asked, possibly another depth of at most Asked
	Known bool
}

// settled reports whether no other run can change the caller's decision: the URL is known at no greater depth than
// Asked.
func (a *Answer) settled() bool { return a.Known && a.Depth <= a.Asked }

// found notes that the URL is known, at a depth.
func (a *Answer) found(depth uint16) {
	if !a.Known || depth < a.Depth {
		a.Known, a.Depth = true, depth
	}
}

// inquiry is a batch of sorted questions on its way through the runs. Its memory is reused.
type inquiry struct {
	questions []Entry
	answers   []Answer // in the order of questions
	doubts    []doubt
	window    window
	reads     int64 // for Stats
}

// begin starts with sorted questions, and the Asked of their answers.
func (q *inquiry) begin(questions []Entry, answers []Answer) {
	q.questions, q.answers, q.reads = questions, q.answers[:0], 0
	for i := range questions {
		q.answers = append(q.answers, Answer{Asked: answers[questions[i].Value].Asked})
	}
}

// end puts the answers where the questions want them.
func (q *inquiry) end(answers []Answer) {
	for i := range q.questions {
		answers[q.questions[i].Value] = q.answers[i]
	}
	q.questions = nil
}

// doubt is a question that a section's head could not answer with no: its entry may be among the
// numbers from..to.
type doubt struct {
	question int
	from, to int
}

// askTable puts the questions to the table.
func (q *inquiry) askTable(t *table) {
	for i := range q.questions {
		e := &q.questions[i]
		if !t.mayHold(e.Fingerprint) {
			continue
		}
		if slot := t.slot(*e); slot.Fingerprint != 0 {
			q.answers[i].found(uint16(slot.Value))
		}
	}
}

// askSorted puts the questions to sorted entries.
func (q *inquiry) askSorted(entries []Entry) {
	for i := range q.questions {
		e := &q.questions[i]
		entries = entries[before(entries, e):]
		if len(entries) == 0 {
			return
		}
		if Same(entries[0], *e) {
			q.answers[i].found(uint16(entries[0].Value))
		}
	}
}

// before returns how many of sorted entries come before e. O(log n) for an answer of n.
func before(entries []Entry, e *Entry) int {
	end := 1
	for end < len(entries) && compare(entries[end], *e) < 0 {
		end *= 2
	}
	from := end / 2
	return from + sort.Search(min(end, len(entries))-from, func(i int) bool { return compare(entries[from+i], *e) >= 0 })
}

// ask puts the questions in its range to a segment: a pass over the head, then one over the blocks in doubt, both in
// order.
func (q *inquiry) ask(g *segment) error {
	questions := q.questions
	at := 0 // index of the first question that the sections so far did not cover
	for i := range g.sections {
		s := &g.sections[i]
		at += sort.Search(len(questions)-at, func(j int) bool {
			e := &questions[at+j]
			return s.contains(e) || s.after(e)
		})
		from := at
		at += sort.Search(len(questions)-at, func(j int) bool { return !s.contains(&questions[at+j]) })
		if from < at {
			q.search(s, from, at)
			if err := q.settle(g, s); err != nil {
				return err
			}
		}
		if at == len(questions) {
			return nil
		}
	}
	return nil
}

// search looks up the questions from..to, all in the range of a section, in its head. It notes as doubts those that
// are not settled and that the head cannot answer with no.
func (q *inquiry) search(s *section, from, to int) {
	q.doubts = q.doubts[:0]
	for i := from; i < to; i++ {
		if q.answers[i].settled() {
			continue
		}
		bucket, b, _ := s.split(q.questions[i].Fingerprint)
		at := s.start(bucket)
		if first, end := s.search(at, at-bucket, b); first < end {
			q.doubts = append(q.doubts, doubt{i, first, end})
		}
	}
}

// settle answers, from the blocks of a section, the questions that are in doubt.
func (q *inquiry) settle(g *segment, s *section) error {
	q.window.reset(g, s)
	for i, d := range q.doubts {
		e := &q.questions[d.question]
		_, _, rest := s.split(e.Fingerprint)
		want := rest<<8 | uint64(e.Check)
		for d.from < d.to {
			middle := (d.from + d.to) / 2
			if !q.window.holds(middle) {
				q.reads++
				if err := q.window.show(middle, q.doubts[i:]); err != nil {
					return err
				}
			}
			tail, depth, err := q.window.entry(middle)
			if err != nil {
				return err
			}
			switch {
			case tail == want:
				q.answers[d.question].found(depth)
				d.to = d.from
			case tail < want:
				d.from = middle + 1
			default:
				d.to = middle
			}
		}
	}
	return nil
}
