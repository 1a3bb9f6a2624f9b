// Package memory divides a process's memory among the parts that hold data of unbounded size.
//
// A Budget is the number of bytes that the process may hold. Each part of the program has a line in it, of one of three
// kinds:
//
//   - Charged (Open): the part has a share, its Account. It charges bytes before it holds them, and waits while the
//     account has no room.
//   - Bounded (Bound): the part has a share, bounds itself, and only reports how much it holds.
//   - Counted (Count): the part grows with the crawl and has no share. Its size is shown, and nothing else.
//
// No part can use the share of another. The shares never add up to more than the budget. The rest of the budget is for
// the garbage collector, the stacks of goroutines, and whatever is too small to count.
//
// # Why nothing waits forever
//
// It is not known in advance how much a page needs: a body may not tell its length, and a compressed one may have any
// size. So a Holding grows step by step, up to the account's limit for one holding. The account keeps that many bytes
// as a reserve, which one holding has at a time. The holding with the reserve never waits again. When it is released,
// the reserve goes to the holding that has waited longest. So in each account one holding can always complete, and
// waiting holdings are served in order, however large they are.
//
// Some code keeps a holding of one account while it waits for another account. It always takes accounts in the order
// in which a page passes through the crawl: bodies, then processing, then what waits to be written. So there is no
// deadlock between accounts either.
package memory
