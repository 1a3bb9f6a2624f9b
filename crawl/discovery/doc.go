// Package discovery decides which links become pages of a crawl. It opens nothing, and has no clock and no lock.
//
// A link passes in four steps:
//
//  1. PageLinks, RedirectLink and SitemapLinks make links from a stored page or site. Share marks those that get a
//     share of the page's cash.
//  2. Finder.Admit drops links outside the Bounds and counts them by reason.
//  3. The caller offers the others to the seen test, which later decides which are new.
//  4. Finder.Settle turns the verdicts into records: new pages that the guards admit, what further links add to known
//     pages, refusals, and the last record with all links decided.
//
// A link that Admit drops does not become known to the seen test. So its page may still be found on a shorter path, or
// under a wider scope. A link that a guard refuses in Settle is known.
//
// Bounds define which URLs belong to a crawl: a scope, which seeds widen, the operator's rules for URLs and sites, and
// requisites. Requisites are links of weburl.RelEmbed; they have the depth of their page and go first. Bounds.Admits
// checks a known page. Finder.Readmit applies changed bounds to a known page.
package discovery
