package sink_test

import (
	"context"
	"fmt"

	"freshet/feed/sink"
)

// printed is a target that prints documents. It remembers the last position of each page, since the same documents may
// come twice.
type printed struct{ positions map[string]uint64 }

// Put prints the documents that are new.
func (p *printed) Put(_ context.Context, documents []sink.Document) ([]sink.Refusal, error) {
	for _, d := range documents {
		if d.Position <= p.positions[d.URL] {
			continue
		}
		p.positions[d.URL] = d.Position
		fmt.Println(d.URL, d.Kind, d.Title)
	}
	return nil, nil
}

// Clear forgets everything: all documents come again.
func (p *printed) Clear(context.Context) error {
	clear(p.positions)
	return nil
}

// Close does nothing.
func (p *printed) Close() error { return nil }

// A target is three methods. Options.Target takes it.
func ExampleTarget() {
	var target sink.Target = &printed{map[string]uint64{}}
	home := sink.Document{URL: "https://example.org/", Title: "Home", Kind: "new", Position: 1}
	for range 2 { // as after a crash
		if _, err := target.Put(context.Background(), []sink.Document{home}); err != nil {
			panic(err)
		}
	}
	// Output:
	// https://example.org/ new Home
}
