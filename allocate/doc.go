// Package allocate spends a budget of crawls on pages so that the most is gained: it finds the x_i with
//
//	min Σ w_i A_i(x_i),   Σ x_i = R,   m_i ≤ x_i ≤ M_i,
//
// for convex A_i. Since the gains w_i (A_i(x) - A_i(x+1)) of one page fall with x, the best allocation
// takes the R - Σ m_i largest gains of all pages (Fox 1966); of equal gains it takes that of the page of
// lower index. Every algorithm here computes that same allocation:
//
//   - Greedy takes one gain after the other from a heap: O(n + R log n).
//   - GalilMegiddo discards a fixed part of all gains each round, by a weighted median of the pages' medians
//     (Galil and Megiddo 1979): O(n log² R) or so.
//   - FredericksonJohnson selects among ever smaller blocks of gains (Frederickson and Johnson 1982).
//   - Multiplier guesses the least gain that is taken, counts each page's gains above it in closed form,
//     and settles what the sum misses by a selection among the next gains. It is the one to use: time
//     linear in n whatever R is, and 20 bytes a page.
//
// Certify proves an allocation optimal: no gain left out is larger than one that was taken. Shares is the simple
// alternative: it spends in proportion to given numbers, or evenly. Capped adds limits for the pages of a site, such
// as politeness sets, and stays exact.
//
// The package sees pages only through a Problem: bounds, gains, and a guess at how many gains exceed a value.
// Everything is deterministic and without state.
package allocate
