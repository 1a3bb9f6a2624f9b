// Package extract reads what the crawler needs from a page: its links, its directives for robots, and a digest of its
// text that tells a change from noise.
//
// All results depend only on the bytes, the header and the URL that answered. A [Parser] keeps bounds and buffers, but
// nothing of earlier pages. Nothing in a page is an error: unreadable parts are left out. Page.LinksDropped counts
// links beyond a bound.
//
// # Links
//
// Every element that refers to something to be fetched counts, inside noscript and template too: a, area, link (but
// dns-prefetch and preconnect, which name only a host), frame, iframe, embed, object, img, input, source, audio, video,
// track, script, svg's a, image, use, feImage and script, background attributes, srcset and imagesrcset, meta refresh.
// So do data-src, data-original, data-lazy-src, data-srcset and data-lazy-srcset, which scripts read, and what a style
// sheet refers to with @import and url(…): a sheet of its own, a style element or a style attribute. Forms and
// citations don't. Tags are read as by the HTML standard's tokenizer, svg and math included. No tree is built, so a tag
// counts even if a browser would drop it. testdata/markup.json holds some hundred pieces of markup with the links that
// an independent parser finds; TestMarkup names each difference. Links in a Link or Refresh header come first. A
// reference is resolved against the first base element with an href, wherever it stands, or else against the page's
// URL. It gets the canonical form of package weburl. A query is encoded as UTF-8, even if the page has another
// character set, which a browser would use. Each URL occurs once, with the relation of its first occurrence. The page's
// own URL is left out.
//
// # The text
//
// Page.Text is the XXH3-128 of the visible text. It shows whether a page has changed. The text is what the document
// shows without style sheets and scripts, as UTF-8: all character data with decoded entities, including the title, but
// without the content of script, style, iframe, noframes, noembed, noscript and template. Comments and attributes don't
// count. A run of characters with the Unicode property White_Space is one space; none stands at the beginning or end.
// Tags part words like a space, except those of phrasing elements, such as b or span, and of elements that show nothing
// (element.parts lists them). So markup, reflow, scripts and counters in attributes do not change the digest, and a
// changed word does. The characters count as they are: nothing is done about Unicode normalisation, case, hidden
// elements or the present date. A page without text has the digest zero. Then the bytes decide, as for everything that
// is not HTML. These rules are TextVersion 1. A change of the rules that changes any digest needs another number.
//
// # Lists
//
// Sitemaps and feeds give links, some with the date of the page's last change. A tolerant walk over the tokens of the
// same tokenizer reads them. It expands no entities and bounds the depth.
//
// # Memory
//
// The Options bound the bytes of memory for a document: for unpacked or converted text, and for links. The parser asks
// for memory before it takes it. At most 1,000 attributes of a tag count.
package extract
