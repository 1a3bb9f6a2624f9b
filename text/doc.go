// Package text reads what a page says: its title, its main text, as Markdown too, who wrote it, when, and in which
// language.
//
// A Page is a document taken apart into blocks: runs of text that no element of layout parts. A library finds the main
// text of one page alone. What it cannot know is what repeats across the pages of a site: navigation, footers, lines
// such as "last modified". A Site learns that. It counts the blocks of the pages that it is shown, by their text and by
// their place in the document, in bounded memory. When it has seen enough pages, what repeats is left out and all the
// rest is main text.
//
// # What repeats
//
// A block counts as boilerplate in one of four ways. The page says by tags or roles that it is navigation, a head or a
// foot; or by names, and half of the pages have such a block in the same place. Its text, with numbers made alike,
// stands on a tenth of the pages. Or it stands at the margin of the page, above or below everything that is the page's
// own, has a number in it, and a block that begins with the same two words stands in the same place on half of the
// pages. Or it is at the margin and mostly links, and there are links in the same place on half of the pages. Inside of
// the page a repeated block of fewer than eight words is kept unless it is one of several links in a row: headings such
// as "See also" belong to the text.
//
// # A page alone
//
// Where the site is not known, the page's own words decide: which parts it says are no main text (chrome.go), and
// whether it is a thread, an article or something else (kind.go). Threads are their posts, articles what the library
// finds, all others the blocks that are left (extractor.go): for them the library is asked for title, author and date
// alone. It guesses the language of all text that it finds, which is a fifth of its work.
//
// # Near-duplicates
//
// A Signature is a MinHash of the words of a text. Clusters groups the signatures of texts that share most of their
// words.
//
// # Limits
//
// Pages are hostile. A document is read up to Limits.Bytes and Limits.Blocks, and the library is asked only up to
// Limits.Nodes and until the context ends. After that, and after a panic of it, the blocks alone decide. One page that
// the library does not come back from costs a goroutine until it does; no second one is begun meanwhile.
//
// Start reading at page.go, then chrome.go, kind.go, site.go, extractor.go, signature.go.
package text
