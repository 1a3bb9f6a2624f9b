// Package consent reads what sites and pages say about the use of what they publish: whether it may be found in a
// search, be given to a model as input, or train one.
//
// A Signal is one such saying, raw, with the place where it stood: a line of robots.txt, a rule of tdmrep.json,
// a field of the answer's header, a meta element, a link. Known are Content-Usage (draft-ietf-aipref-attach,
// with the vocabulary of draft-ietf-aipref-vocab), Content-Signal (contentsignals.org), TDM-Reservation and
// TDM-Policy (TDMRep of the W3C's community group), the robots directives noindex, none, noai and noimageai, and
// links of rel=license.
//
// Signals are those of one page. They are kept as text, a line each, and give a Verdict for each Use. Where two of them
// differ, the stricter one holds: a use is disallowed if any of them says so.
//
// Nothing here decides what a program does with a page that is reserved.
package consent
