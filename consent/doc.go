// Package consent reads what sites and pages say about the use of their content: whether it may be found in a search,
// be given to a model as input, or train one.
//
// A Signal is one such statement, unparsed, with its source: a line of robots.txt, a rule of tdmrep.json, a field of
// the answer's header, a meta element, a link. The package knows Content-Usage (draft-ietf-aipref-attach, with the
// vocabulary of draft-ietf-aipref-vocab), Content-Signal (contentsignals.org), TDM-Reservation and TDM-Policy (TDMRep
// of the W3C's community group), the robots directives noindex, none, noai and noimageai, and links with rel=license.
//
// Signals are those of one page. They are stored as text, one per line, and give a Verdict for each Use. If two signals
// differ, the stricter one holds: a use is disallowed if any signal disallows it.
//
// The package does not decide what a program does with a reserved page.
package consent
