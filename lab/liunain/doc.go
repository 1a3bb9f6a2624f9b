// Package liunain is the experiment that compares what Liu and Nain printed (Optimization issues in web search
// engines, 2005) with what fleet and schedule/sequence compute: every row of Tables 1.1 to 1.3, the figures, and the
// cost of access sequences above the lower bound. It also runs the fleet's optimal policy in a simulation that does
// not use the Markov chain.
//
// It checks Propositions 1 to 4, 7 and 8 on random models and sequences, or on a grid of parameters. And it measures
// the cost of choosing the number of fetchers for exponential service if service is not exponential.
//
// The tables lie beside this file. Columns named printed_… hold the paper's numbers. An independent program computed
// the columns of the same names without printed_. The column differs names the columns that disagree, and why gives
// the reason.
package liunain
