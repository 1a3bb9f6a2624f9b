// Package text reads the text of pages: title, main text (also as Markdown), author, date and language.
//
// A Page is a document divided into blocks: runs of text without layout elements inside. A library finds the main
// text of a single page. It cannot know what repeats across the pages of a site: navigation, footers, lines such as
// "last modified". A Site learns that. It counts the blocks of pages, by their text and by their place in the
// document, in bounded memory. When it has seen enough pages, repeated blocks are left out and the rest is main text.
//
// # What repeats
//
// A block is boilerplate in one of four cases. First, by tags or roles it is navigation, a head or a foot; or by
// names, if half of the pages have such a block in the same place. Second, its text is on a tenth of the pages; in
// links, numbers do not count. Third, it is a stamp: it is at the margin of the page, above or below the page's own
// text, contains a number, and differs only in numbers from blocks on a tenth of the pages, or half of the pages have
// a block with the same first two words in the same place. Fourth, it is at the margin, is mostly links, and half of
// the pages have links in the same place. Within the page, a repeated block of fewer than eight words is kept, unless
// it is one of several links in a row: headings such as "See also" belong to the text.
//
// Some pages differ only in numbers, such as tables of figures. So a page has at most three stamps at a margin, and
// less text in stamps than in its other blocks. With more, they are text.
//
// # A page alone
//
// While the site is unknown, the page's own markup decides: which parts are not main text (chrome.go), and whether
// the page is a thread, an article or something else (kind.go). The text of a thread is its posts. The text of an
// article is what the library finds. The text of other pages is the remaining blocks (extractor.go); for these, the
// library finds only title, author and date. The library detects the language of all text that it finds, which is a
// fifth of its work.
//
// # Near-duplicates
//
// Near-duplicates share four fifths of their runs of four words. A Signature is a MinHash of a text. Clusters finds
// texts with similar signatures, then compares their Runs.
//
// # Limits
//
// Pages are hostile. A document is read up to Limits.Bytes and Limits.Blocks. The library reads only documents up to
// Limits.Nodes, and only until the context ends. If it fails, panics or is too slow, the blocks alone decide. A page
// on which the library hangs costs one goroutine until it returns; no second call starts meanwhile.
//
// Start reading at page.go, then chrome.go, kind.go, site.go, extractor.go, signature.go, groups.go.
package text
