package fleet

// negligible is the tail of arrivals in one service below which the cut equations drop it.
const negligible = 1e-60

// general returns P(X=0) and P(X=K) of an M/G/1/K queue at load rho, and how many multiplications it
// took. Time is in units of the mean service.
//
// The embedded chain of queue lengths that departures leave behind has probabilities π_j, j < K. The
// balance across the cut between j and j+1,
//
//	P(A=0) π_{j+1} = π_0 P(A>j) + Σ_{i=1…j} π_i P(A>j−i+1)
//
// adds only positive terms, whatever ρ and K, while the textbook's recursion subtracts. Then, with the π_j
// normalised, P(X=0) = π_0/(π_0+ρ), and from the losses between two departures
//
//	P(X=K) = (π_0 E(A−K+1)⁺ + Σ_{i=1…K−1} π_i E(A−K+i)⁺)/(π_0+ρ)
//
// O(K·J), where J ≤ K bounds the arrivals in one service that are not negligible.
func (s Service) general(rho float64, k int) (empty, full, work float64) {
	a := s.arrivals(rho, k)
	if a.none < 1e-100 {
		// π_1/π_0 = P(A>0)/P(A=0): the queue is practically never empty.
		return 0, 1 - 1/rho, a.work
	}
	reach := len(a.more)
	for reach > 1 && a.more[reach-1] < negligible {
		reach--
	}
	pi := make([]float64, k)
	pi[0] = 1
	for j := range k - 1 {
		sum := pi[0] * a.more[j]
		for i := max(1, j-reach+2); i <= j; i++ {
			sum += pi[i] * a.more[j-i+1]
		}
		pi[j+1] = sum / a.none
		if pi[j+1] > 1e150 {
			for i := range j + 2 {
				pi[i] *= 1e-150
			}
		}
	}
	var sum float64
	for _, p := range pi {
		sum += p
	}
	lost := pi[0] * a.excess[k-1]
	for i := 1; i < k; i++ {
		lost += pi[i] * a.excess[k-i]
	}
	return pi[0] / (pi[0] + rho*sum), lost / (pi[0] + rho*sum), a.work + float64(k)*float64(reach)
}
