// Package fleet computes how many fetchers to run.
//
// A crawler is a queue of pages that wait to be processed: fetched, and still to be parsed, stored and indexed. Too few
// fetchers starve the processing, too many overflow the queue. Liu and Nain 2005 (section 1.2, after Talim, Liu, Nain
// and Coffman 2001) weigh the two:
//
//	cost = γ · share of time the queue is empty + pages lost a second     (1.2)
//
// A Model has the paper's four quantities: λ, what one fetcher brings; μ, what the processing takes; K, the places in
// the queue; γ. The paper's crawlers are our fetchers.
//
// Static: N fetchers, always active. Model.Fixed gives the cost of a number, Model.Best the best number (Proposition
// 1), Model.LargeQueue its limit as K grows (1.12). Service times may be of any Service: exponential, for which all is
// in closed form, fixed, Erlang, hyperexponential, or as measured. The others use the chain embedded at departures.
//
// Dynamic: fetchers are switched on and off by the state of the queue. A fetcher that has brought a page stops or goes
// on. After a page is processed, one more may start. Model.Dynamic solves this Markov decision process exactly, by
// policy iteration; the tests also solve it by the paper's recursion. The answer is two switching curves: the largest
// queue at which a fetcher is turned on, as functions of the number active.
//
// Three things make it fast and exact. The paper's state (q, r, s) includes the next event, but what follows an event
// depends only on where it lands: so here the states are pairs (q, r) and the policy is a bit for each (see process).
// Their chain is a narrow band, which is eliminated without a subtraction (see evaluate). And policy iteration starts
// from the policy that holds the best fixed number, so some 4 to 8 rounds are enough.
//
// Live: a running crawl reports its fetches and processed pages to a Controller, which measures λ and μ, asks for a new
// Plan when they have drifted, and decides how many fetchers may be active, and when consumers such as an index rest.
//
// The paper's text has misprints in the transitions and in some rows of its tables; the comments say where this package
// departs from it, and lab/liunain lists every printed value beside the right one.
//
// The package is pure: no clock, no goroutine, no file. Values are safe for concurrent use.
package fleet
