// Package discovery decides which links make pages of a crawl. It opens nothing, and has no clock and no lock.
//
// A link passes in four steps. PageLinks, RedirectLink and SitemapLinks make links of what is stored of a page or
// site, and Share says which of them have a share in the page's cash. Finder.Admit drops those that are outside of
// the Bounds, and counts why. The caller offers the others to the seen test, which says later which of them are
// new. Finder.Settle makes records of its verdicts: new pages that the guards let in, what further links say of
// known pages, what was refused, and how far the records' links are decided.
//
// A link that Admit drops stays unknown to the seen test, so that its page may yet be found on a shorter way, or
// under a wider scope. One that a guard refuses in Settle is known.
//
// Bounds say what belongs to a crawl: a scope, which seeds widen, what the operator says of URLs and sites, and of
// requisites, which are links of weburl.RelEmbed: they lie as deep as their page, and go ahead.
// Bounds.Admits asks this of a page that is known, Finder.Readmit what becomes of it under other bounds.
package discovery
