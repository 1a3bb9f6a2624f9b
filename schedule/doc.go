// Package schedule assigns crawls to slots. A slot is an instant at which a crawler can start one crawl. A task is a
// crawl with an ideal time. The cost of an ordinary task is the distance between its ideal time and its slot. A release
// task may not start before its ideal time, because its content does not exist yet. The package finds the schedule that
// places the most tasks and, of all such schedules, costs least (Wolf, Squillante, Yu, Sethuraman and Ozsen 2002,
// section 2.4, with the slot times of their text corrected to (l-1)T/S).
//
// This is a transportation problem on a line, so no network algorithm is needed:
//
//   - Sweep is for as many tasks as slots. It makes one pass over both in time order, and is exact if all tasks can be
//     placed.
//   - Regret is for any numbers of tasks and slots. It keeps two heaps of offers. Each offer includes the cost of
//     taking it back.
//   - Restricted is for tasks that may not use every slot (forbidden windows, certain crawlers). It repairs Regret's
//     schedule by shortest augmenting paths, found by sweeps, and stays exact.
//   - Spaced keeps the crawls of a site apart. No fast exact algorithm is known for this. Spaced repairs an exact
//     schedule by moves and swaps. The cost of that schedule is a lower bound to compare with.
//
// Solve chooses Sweep or Regret. Times are in seconds and finite. All functions are deterministic, keep no state, and
// are safe for concurrent use.
package schedule
