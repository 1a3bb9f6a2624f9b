// Package weburl gives every page one name.
//
// The web writes the same address in many ways; a crawler that takes them for different pages
// fetches one page again and again, and one that folds too much together misses pages. This package
// draws the line where browsers draw it: a URL is read by the WHATWG URL standard
// (https://url.spec.whatwg.org), and its canonical form is the standard's serialisation without
// credentials and fragment. What the standard leaves apart stays apart: "%7E" is not "~", "?" is not
// nothing, and no parameter is sorted or dropped.
//
// All other names follow from the canonical text:
//
//   - Fingerprint, 64 bits, stands for the URL wherever a text would be too large. Among ten
//     billion URLs some three pairs share one.
//   - Site, the scheme, host and port, is what has queues and a robots.txt.
//   - Name, the host's without a final dot, is what politeness is owed to.
//   - Domain, the registrable domain by the public suffix list, is the owner, as far as a name tells.
//   - Partition, a hash of the domain, says in which part of a data directory the page lives, so
//     that http, https, "www." and other subdomains of one owner are together.
//   - SURT is the key of archive indexes.
//
// Fingerprints, partitions and the numbers of relations are kept on disk and never change. A domain
// can, when a build carries a newer public suffix list; a data directory then goes by where a host lies.
//
// A crawler parses some hundred links a page, nearly all of them clean, so the work is shared out
// so: a canonical URL is recognised in one pass and kept as it is; any other reference is split,
// resolved and percent-encoded here, in linear time and with one allocation; a host that is more
// than lower-case letters, digits, hyphens and dots goes to a full implementation of the standard
// (package whatwg-url) with its tables of names and its rules for addresses. Tests hold the outcome
// against that implementation and the standard's own cases.
//
// Nothing here keeps state: everything is safe for concurrent use.
package weburl
