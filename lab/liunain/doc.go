// Package liunain is the experiment that puts what Liu and Nain printed (Optimization issues in web
// search engines, 2005) beside what fleet and schedule/sequence compute: every row of Tables 1.1 to
// 1.3, the figures, the fleet's optimal policy in a simulation that knows nothing of the chain, and the
// cost of access sequences against the lower bound.
//
// Of Propositions 1 to 4, 7 and 8 it says which hold, on models and sequences that are drawn or span the parameters;
// and what a number of fetchers costs that was chosen for exponential service where service is not.
//
// The tables lie beside this file. Their columns printed_… are the paper's; those of the same name
// were computed by an independent program; differs names the columns in which the two don't agree, and
// why says why.
package liunain
