package extract

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/weburl"
)

// With Repeats every link is there as often as it stands in the page, those to the page itself too.
func TestRepeats(t *testing.T) {
	own, err := weburl.Parse("http://a.test/x")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`<a href="y">1</a> <a href="#part">2</a> <img src="z.png"> <a href="y#part">3</a>`)
	p := NewParser(Options{Repeats: true})
	for range 2 { // as a parser is used again
		var got []string
		for _, l := range p.Extract(nil, body, own).Links {
			got = append(got, l.URL.RequestURI())
		}
		if diff := cmp.Diff([]string{"/y", "/x", "/z.png", "/y"}, got); diff != "" {
			t.Errorf("links (-want +got):\n%s", diff)
		}
	}
}
