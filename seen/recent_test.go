package seen

import (
	"testing"

	"freshet/weburl"
)

func TestRecentSettles(t *testing.T) {
	r := newRecent(64, false)
	for i, step := range []struct {
		depth uint16
		want  bool
	}{
		{3, false}, // new
		{3, true},
		{4, true},
		{2, false}, // a shorter way
		{2, true},
		{3, true},
	} {
		if got, _ := r.note(7, &weburl.Link{Depth: step.depth}); got != step.want {
			t.Errorf("step %d: depth %d settles: %v, want %v", i, step.depth, got, step.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { r.note(9, &weburl.Link{Depth: 1}) }); n != 0 {
		t.Errorf("note allocates %v times", n)
	}
}
