package replay

import (
	"context"
	"testing"

	"freshet/lab"
)

// TestFound holds by hand what pages that are to be found cost. Slots are at 0.5, 1.5 … seconds. At 2 a page comes in
// the folder of the one that is known, and one in another folder, which goes at 6. The visit at 2.5 finds both; the
// slots at 3.5 and 4.5 are for their first copies.
func TestFound(t *testing.T) {
	w := &World{Window: 10, Score: 10, Lives: []Life{
		{Site: "s", Path: "/x/a", End: 10},
		{Site: "s", Path: "/x/b", Born: 2, End: 10},
		{Site: "s", Path: "/y/c", Born: 2, End: 6},
	}}
	for _, test := range []struct {
		name          string
		fail          float64
		fresh, crawls [3]float64
	}{
		{"all succeed", 0, [3]float64{10, 6.5, 1.5}, [3]float64{4, 2, 2}},
		{"all fail", 1, [3]float64{10, 0, 0}, [3]float64{10, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules := Rules{Rate: 1, Hidden: true, Found: true, Fail: test.fail, Random: lab.Random(1, 0)}
			reached, err := Run(context.Background(), w, new(every), nil, rules)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range reached.Pages {
				if alive := w.Lives[i].End - w.Lives[i].Born; s.Fresh != test.fresh[i] || s.Crawls != test.crawls[i] || s.Alive != alive {
					t.Errorf("%s: %+v, want %v s fresh of %v, %v crawls", w.Lives[i].Path, s, test.fresh[i], alive, test.crawls[i])
				}
			}
		})
	}
}
