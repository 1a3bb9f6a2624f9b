package fleet

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestClosedClasses holds the closed classes of small chains to what follows from which state leads
// to which.
func TestClosedClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		chain := make([][]int, n)
		leads := make([][]bool, n)
		for i := range chain {
			chain[i] = rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 3).Draw(t, "successors")
			leads[i] = make([]bool, n)
			leads[i][i] = true
			for _, j := range chain[i] {
				leads[i][j] = true
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					leads[i][j] = leads[i][j] || leads[i][k] && leads[k][j]
				}
			}
		}
		var want [][]int
		for i := range n {
			var class []int
			closed := true
			for j := range n {
				if leads[i][j] {
					closed = closed && leads[j][i]
					class = append(class, j)
				}
			}
			if closed && class[0] == i {
				want = append(want, class)
			}
		}
		got := closedClasses(n, func(i int, to []int) []int { return append(to, chain[i]...) })
		for _, class := range got {
			slices.Sort(class)
		}
		slices.SortFunc(got, slices.Compare)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", chain, diff)
		}
	})
}
