package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/transcript"
	"freshet/weburl"
)

// TestTranscripts runs each block of testdata/*.txt with a book of its own.
func TestTranscripts(t *testing.T) {
	transcript.Run(t, func(t *testing.T) func([]string) string {
		return func(commands []string) string {
			w := &world{t: t, book: NewBook("foo", false, 1<<20), site: "http://a.test", start: time.Unix(1_000_000_000, 0).UTC(),
				patience: Patience{First: time.Minute, Tries: 2}}
			w.now = w.start
			for _, line := range commands {
				w.command(strings.Fields(line))
			}
			return w.out.String()
		}
	})
}

// world is the state that a crawl keeps of one site outside the book.
type world struct {
	t        *testing.T
	out      strings.Builder
	book     *Book
	site     weburl.Site
	patience Patience
	failures int
	older    *Standing
	start    time.Time
	now      time.Time
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *world) command(words []string) {
	switch words[0] {
	case "after":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			w.t.Fatal(err)
		}
		w.now = w.now.Add(d)
	case "restart":
		w.book, w.failures = NewBook("foo", false, 1<<20), 0
	case "tdmrep":
		w.book = NewBook("foo", true, 1<<20)
	case "where":
		_, at := w.book.Where(w.site, w.now)
		w.printf("ask for %s", at)
	case "answer":
		w.answer(words[1:])
	case "may":
		s, _ := w.book.Standing(w.site)
		for _, path := range words[1:] {
			allowed := s.Rules != nil && s.Allowed(page(w.t, string(w.site)+path))
			w.printf("%s %v", path, map[bool]string{true: "allowed", false: "refused"}[allowed])
		}
	case "said":
		s, _ := w.book.Standing(w.site)
		for _, path := range words[1:] {
			w.printf("%s %q", path, s.Signals(page(w.t, string(w.site)+path)).Lines())
		}
	case "look":
		s, _ := w.book.Standing(w.site)
		effect := s.Look(page(w.t, string(w.site)+words[1]), words[2] == "refused", words[2] == "served")
		w.printf("%s, %s: %s", words[1], words[2], [...]string{"stays", "withdraw", "ask"}[effect])
	default:
		w.t.Fatalf("no command %s", words[0])
	}
}

func (w *world) answer(words []string) {
	var a Answer
	switch words[0] {
	case "rules":
		a.Reached, a.Body = true, []byte("User-agent: *\n"+strings.ReplaceAll(strings.Join(words[1:], " "), ";", "\n"))
	case "reserves":
		a.Reached, a.Body = true, []byte(strings.Join(words[1:], " "))
	case "missing":
		a.Reached = true
	case "redirect":
		a.Reached, a.Redirect = true, page(w.t, words[1])
	case "barred":
		a.Barred = true
	case "unreachable":
	default:
		w.t.Fatalf("no answer %s", words[0])
	}
	file, _ := w.book.Where(w.site, w.now)
	a.TDMRep = file == TDMRepAt(w.site)
	v := w.book.Judge(w.site, a, w.older, w.failures, w.patience, w.now)
	if v.Fresh {
		w.older = &v.Standing
	}
	switch {
	case !v.Next.IsZero():
		w.printf("t=%v next %s", w.now.Sub(w.start), v.Next)
		return
	case !v.Retry.IsZero():
		w.failures++
		shelved := ""
		if v.Shelved {
			shelved = ", shelved"
		}
		w.printf("t=%v again in %v%s", w.now.Sub(w.start), v.Retry.Sub(w.now).Round(time.Second), shelved)
		return
	}
	w.failures = 0
	which := "older rules"
	switch {
	case v.Fresh:
		which = "rules"
	case v.Standing.Closed:
		which = "closed"
	}
	w.printf("t=%v %s for %v", w.now.Sub(w.start), which, v.Until.Sub(w.now))
}
