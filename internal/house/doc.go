// Package house tests the rules of the whole module that no compiler checks: which package may import which, where
// time and randomness may come from, that every exported name has a comment and that links between documents work.
// It has only tests; `go test ./internal/house` names the file, the line and the rule.
//
// The rules are tables at the head of each test file. To break one, change the table and say why there.
package house
