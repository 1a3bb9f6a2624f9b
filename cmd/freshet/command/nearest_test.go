package command

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	tests := []struct{ name, want string }{
		{"delya", "delay"}, {"max-page", "max-pages"}, {"max_pages", "max-pages"}, {"stat", "status"}, {"pages", ""}, {"d", ""}, {"", ""}, {strings.Repeat("delay", 1000), ""},
	}
	for _, test := range tests {
		if got := Nearest(test.name, []string{"delay", "cat", "max-pages", "status"}); got != test.want {
			t.Errorf("Nearest(%.20q) = %q: want %q", test.name, got, test.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("[ab]{0,6}")
		a, b, c := text.Draw(t, "a"), text.Draw(t, "b"), text.Draw(t, "c")
		switch {
		case (editDistance(a, b) == 0) != (a == b):
			t.Fatal("zero for others than equals")
		case editDistance(a, b) != editDistance(b, a):
			t.Fatal("not symmetric")
		case editDistance(a, c) > editDistance(a, b)+editDistance(b, c):
			t.Fatal("a detour is shorter")
		case editDistance(a+"x", b+"x") != editDistance(a, b):
			t.Fatal("a common end counts")
		}
	})
}
