package fleet

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A literal is the paper's own chain, with states (q, r, s) just before an event s, written down from
// (1.13) to (1.16) and not from this package's code: the smaller problem that the package solves has
// to have the same answer.
type literal struct {
	lambda, mu, gamma float64
	k, n              int
	states            [][3]int
	number            map[[3]int]int
}

func newLiteral(lambda, mu, gamma float64, k, n int) *literal {
	l := &literal{lambda: lambda, mu: mu, gamma: gamma, k: k, n: n, number: map[[3]int]int{}}
	for q := range k + 1 {
		for r := range n + 1 {
			for s := range 3 {
				if s == 0 && q == 0 || s == 1 && r == 0 || s == 2 && q == 0 && r == 0 {
					continue
				}
				l.number[[3]int{q, r, s}] = len(l.states)
				l.states = append(l.states, [3]int{q, r, s})
			}
		}
	}
	return l
}

// uniform is ν.
func (l *literal) uniform() float64 { return l.lambda*float64(l.n) + l.mu }

// cost is (1.13).
func (l *literal) cost(x [3]int) (c float64) {
	if x[0] == 0 {
		c = l.gamma
	}
	if x[0] == l.k && x[2] == 1 {
		c += l.uniform()
	}
	return c
}

// actions returns which of 0 and 1 are allowed. Where both are the same there is only 0.
func (l *literal) actions(x [3]int) []int {
	switch {
	case x == [3]int{1, 0, 0}:
		return []int{1}
	case x[2] == 2, x[2] == 0 && x[1] == l.n:
		return []int{0}
	}
	return []int{0, 1}
}

// next is (1.14) to (1.16): probabilities by number of state.
func (l *literal) next(x [3]int, a int) map[int]float64 {
	q, r := x[0], x[1]
	switch x[2] {
	case 0:
		q, r = q-1, min(r+a, l.n)
	case 1:
		q, r = min(q+1, l.k), r+a-1
	}
	departure, arrival := 0.0, l.lambda*float64(r)/l.uniform()
	if q > 0 {
		departure = l.mu / l.uniform()
	}
	to := map[int]float64{}
	for s, p := range []float64{departure, arrival, 1 - departure - arrival} {
		if p > 1e-15 {
			to[l.number[[3]int{q, r, s}]] = p
		}
	}
	return to
}

// successors returns where a policy, or any action if it is nil, may lead.
func (l *literal) successors(actions []int) func(int, []int) []int {
	return func(i int, to []int) []int {
		allowed := l.actions(l.states[i])
		if actions != nil {
			allowed = []int{actions[i]}
		}
		for _, a := range allowed {
			for j := range l.next(l.states[i], a) {
				to = append(to, j)
			}
		}
		slices.Sort(to)
		return to
	}
}

// average returns the long-run average cost within a closed class, by Gaussian elimination with
// pivoting of its balance equations.
func (l *literal) average(class, actions []int) float64 {
	n := len(class)
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n+1)
		m[i][i] = -1
	}
	for j, from := range class {
		for to, p := range l.next(l.states[from], actions[from]) {
			m[slices.Index(class, to)][j] += p
		}
	}
	for j := range n + 1 {
		m[0][j] = 1 // probabilities sum to 1
	}
	for c := range n {
		pivot := c
		for i := c; i < n; i++ {
			if math.Abs(m[i][c]) > math.Abs(m[pivot][c]) {
				pivot = i
			}
		}
		m[c], m[pivot] = m[pivot], m[c]
		for i := range n {
			if f := m[i][c] / m[c][c]; i != c && f != 0 {
				for j := c; j <= n; j++ {
					m[i][j] -= f * m[c][j]
				}
			}
		}
	}
	var sum float64
	for i, state := range class {
		sum += m[i][n] / m[i][i] * l.cost(l.states[state])
	}
	return sum
}

// TestAllPolicies holds the optimal cost to the cheapest of all policies of the paper's chain, each
// evaluated in each of its closed classes.
func TestAllPolicies(t *testing.T) {
	for _, test := range []struct {
		lambda, mu, gamma float64
		k, n              int
	}{
		{0.7, 1, 1, 2, 2}, {0.3, 1, 5, 2, 2}, {2, 1, 0.2, 2, 2}, {0.9, 0.5, 0.1, 3, 1}, {1.5, 3, 9, 2, 2}, {0.1, 1, 1.4, 4, 1},
	} {
		l := newLiteral(test.lambda, test.mu, test.gamma, test.k, test.n)
		actions := make([]int, len(l.states))
		var free []int
		for i, x := range l.states {
			allowed := l.actions(x)
			actions[i] = allowed[0]
			if len(allowed) == 2 {
				free = append(free, i)
			}
		}
		cheapest := math.Inf(1)
		for bits := range 1 << len(free) {
			for b, i := range free {
				actions[i] = bits >> b & 1
			}
			for _, class := range closedClasses(len(l.states), l.successors(actions)) {
				cheapest = min(cheapest, l.average(class, actions))
			}
		}
		m := Model{test.lambda, test.mu, test.k, test.gamma}
		d, err := m.Dynamic(test.n)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "cost", d.Cost, cheapest, 1e-11)
	}
}

// TestMultichain holds the example before Lemma 2: with N = 2, the policy that goes on after every
// arrival and never adds at a departure, but in (1,0,0), keeps 1 active for ever, or 2.
func TestMultichain(t *testing.T) {
	l := newLiteral(0.5, 1, 1, 4, 2)
	actions := make([]int, len(l.states))
	for i, x := range l.states {
		if x[2] == 1 || x == [3]int{1, 0, 0} {
			actions[i] = 1
		}
	}
	active := map[int]int{}
	classes := closedClasses(len(l.states), l.successors(actions))
	for _, class := range classes {
		for _, i := range class {
			active[l.states[i][1]]++
		}
	}
	want := map[int]int{}
	for _, x := range l.states {
		if x[1] > 0 && l.entered(x) {
			want[x[1]]++
		}
	}
	if diff := cmp.Diff(want, active); diff != "" || len(classes) != 2 {
		t.Errorf("%d classes, states by number active (-want +got):\n%s", len(classes), diff)
	}
}

// entered reports whether a state is ever entered. With all N active and a page in the queue, ν is the
// rate of arrivals and departures alone, and nothing else happens.
func (l *literal) entered(x [3]int) bool { return x[2] != 2 || x[0] == 0 || x[1] < l.n }

// TestCommunicating holds Lemma 2, but for the states (q,N,2), q > 0, that the paper counts and
// nothing leads to: of the others, every one leads to every other under some policy.
func TestCommunicating(t *testing.T) {
	for k := 2; k <= 5; k++ {
		for n := 1; n <= 5; n++ {
			l := newLiteral(0.5, 1, 1, k, n)
			classes := closedClasses(len(l.states), l.successors(nil))
			if len(classes) != 1 || len(classes[0]) != len(l.states)-k {
				t.Fatalf("K=%d N=%d: classes %v", k, n, classes)
			}
			for _, i := range classes[0] {
				if !l.entered(l.states[i]) {
					t.Errorf("K=%d N=%d: %v is entered", k, n, l.states[i])
				}
			}
		}
	}
}
