// Package extract reads what a page tells the crawler: its links, what it asks of robots, and a
// digest of its text by which a change is told from noise.
//
// Everything is a function of the bytes, the header and the URL that answered. A [Parser] holds
// bounds and buffers and nothing of the pages it has read. Nothing in a page is an error: what
// cannot be read is left out, what exceeds a bound is counted in Page.LinksDropped.
//
// # Links
//
// Every element that refers to something to be fetched counts, inside noscript and template too:
// a, area, link (but dns-prefetch and preconnect, which name only a host), frame, iframe, embed,
// object, img, input, source, audio, video, track, script, svg's a, image, use, feImage and script, background
// attributes, srcset and imagesrcset, meta refresh. So do data-src, data-original, data-lazy-src,
// data-srcset and data-lazy-srcset, which scripts read, and what a style sheet refers to with @import and url(…): a
// sheet of its own, a style element or a style attribute. Forms and citations don't. Tags are read as the HTML
// standard's tokenizer reads them, svg and math included, but no tree is built: a tag counts also where a browser would
// drop it. testdata/markup.json holds some hundred pieces of markup with the links that an independent parser finds;
// TestMarkup names each difference. Links in a Link or Refresh header come first. A reference is resolved against the
// first base element that has an href, wherever it stands, else against the page's URL, and put into the canonical form
// of package weburl. A query is encoded as UTF-8, also on a page in another character set, where a browser would use
// that. Each URL comes once, with the relation of its first occurrence; the page's own URL does not come at all.
//
// # The text
//
// Page.Text is the XXH3-128 of the visible text, and says whether a page has changed. The text is
// what the document shows with style sheets and scripts off, as UTF-8: all character data, entities
// decoded, the title included, except for what stands in script, style, iframe, noframes, noembed,
// noscript and template. Comments and attributes don't count. A run of characters with the Unicode
// property White_Space is one space; none stands at the beginning or end. Tags part words like a
// space, except those of phrasing elements, such as b or span, and of elements that show nothing
// (element.parts lists them). So markup, reflow, scripts and counters in attributes leave the digest
// alone, and a changed word changes it. It is taken of the characters as they are: Unicode
// normalisation, case, hidden elements and dates that tick are not looked at. A page without text
// has the digest zero: then the bytes decide, as for everything that is not HTML. The rules are
// TextVersion 1; a change to them that changes any digest gets another number.
//
// # Lists
//
// Sitemaps and feeds give links with the date of the page's last change, where told. They are read
// with a tolerant walk over the tokens of the same tokenizer, which expands no entities and bounds the depth.
//
// # Memory
//
// What a document makes of memory is bounded in bytes by the Options, and asked for before it is taken: what is
// unpacked or converted, and links. A tag has at most 1,000 attributes that count.
package extract
