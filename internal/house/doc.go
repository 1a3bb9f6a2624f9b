// Package house holds the rules that the whole module keeps and that no compiler checks: which room
// may import which, where time and chance may come from, that every exported name is explained and
// that links between documents lead somewhere. It is all tests; `go test ./internal/house` names the
// file, the line and the rule.
//
// The rules themselves stand as tables at the head of each test file. Who needs to break one changes
// the table, and says there why.
package house
