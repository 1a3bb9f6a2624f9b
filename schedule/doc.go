// Package schedule gives every crawl its slot. Crawlers offer slots, instants at which each can start one crawl;
// tasks are crawls with an ideal time. An ordinary task at a slot costs the distance between the two; a release task
// may not start before its ideal time, because its content does not exist yet. The package finds the schedule that
// places the most tasks and, of all such schedules, costs least (Wolf, Squillante, Yu, Sethuraman and Ozsen 2002,
// section 2.4, with the slot times of their text corrected to (l-1)T/S).
//
// This is a transportation problem on a line, so no network algorithm is needed:
//
//   - Sweep is for as many tasks as slots: one pass over both in time order, exact if all can be placed.
//   - Regret is for any numbers: two heaps of offers, each of which knows what taking it back would cost.
//   - Restricted adds tasks that may not use every slot (forbidden windows, certain crawlers): it repairs
//     Regret's schedule by shortest augmenting paths, found by sweeps, and stays exact.
//   - Spaced keeps the crawls of a site apart. That couples tasks beyond what is known to be solvable
//     fast; it repairs an exact schedule by moves and swaps, and what it costs can be held against that
//     schedule's cost, a lower bound.
//
// Solve picks Sweep or Regret. Times are in seconds and finite. Everything is deterministic, without
// state, and safe for concurrent use.
package schedule
