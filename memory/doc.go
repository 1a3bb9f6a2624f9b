// Package memory divides a process's memory among the parts that hold data of unbounded size.
//
// A Budget is the bytes that the process may hold. Each part of the program opens an Account in it: a share that
// no other part can take. There are three kinds.
//
//   - Charged: every holding is charged before it is made, and waits while there is no room (Open).
//   - Bounded: the part bounds itself, and only reports how much it holds (Bound).
//   - Counted: what grows with the crawl and has no share; it is shown, and nothing else (Count).
//
// The shares of a budget never add up to more than the budget. What is left of it is for the garbage collector, the
// goroutines' stacks and whatever is too small to count.
//
// # Why nobody waits for ever
//
// A page does not know at first how much it will need: a body has no length, a compressed one any. So a Holding of
// an account grows step by step, up to the most that one may reach. That much of the account is a reserve, which
// one holding has at a time. Whoever has it never waits again; when it is released the reserve goes to whoever has
// waited longest. So some holding of each account always comes to its end, and those that wait are served in their
// order, however large they are.
//
// Where a holding of one account is kept while another is asked for, the accounts have an order, which is that of
// a page's way: bodies, then processing, then what waits to be written. Nobody goes back. So no circle can form
// between accounts either.
package memory
