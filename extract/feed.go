package extract

import (
	"fmt"
	"strings"

	"freshet/weburl"
)

// ParseFeed returns the entries of an RSS (0.9 to 2.0) or Atom feed, in order. Each has its page (in RSS the link, or
// a guid that is a URL; in Atom the alternate link) and the date of its last change (updated, or else published).
// References are resolved against base, in Atom against xml:base. ParseFeed returns at most opt.MaxLinks entries. For
// a broken feed it returns the entries before the fault, with an error. It leaves out entries without a valid http or
// https URL.
func ParseFeed(contentType string, body []byte, base weburl.URL, opt Options) ([]Entry, error) {
	opt = opt.orDefault()
	document, _ := decodeXML(contentType, body, &opt)
	switch root := rootElement(document); root {
	case "rss", "rdf", "feed":
	default:
		return nil, fmt.Errorf("extract: a feed's root is %.40q, want rss, RDF or feed", root)
	}
	r := feedReader{base: base, room: newEntryRoom(&opt)}
	err := walk(document, &r)
	return r.entries, err
}

// feedReader collects entries. An entry is an item or entry element. Only its direct children count, because a source
// or an enclosed page may contain elements of the same names.
type feedReader struct {
	base    weburl.URL
	room    entryRoom
	entries []Entry

	depth     int        // of the open entry, 0 outside
	entryBase weburl.URL // of the open entry
	child     string     // the open child of the entry, "" for a foreign one
	permalink bool       // the open guid is a URL
	found     feedEntry
}

// feedEntry holds the fields of an entry, as written.
type feedEntry struct{ link, guid, updated, published string }

func (r *feedReader) open(path []string, prefix string, attributes []attribute) {
	name := path[len(path)-1]
	switch {
	case r.depth == 0 && (name == "item" || name == "entry") && len(path) > 1:
		r.depth, r.found = len(path), feedEntry{}
		r.entryBase = baseOf(r.base, attributes)
	case r.depth == 0 && len(path) == 1:
		r.base = baseOf(r.base, attributes)
	case r.depth > 0 && len(path) == r.depth+1:
		r.openChild(name, prefix, attributes)
	}
}

// openChild handles the start tag of a direct child of an entry.
func (r *feedReader) openChild(name, prefix string, attributes []attribute) {
	r.child, r.permalink = name, true
	switch prefix {
	case "", "rss", "atom", "atom10", "a10", "dc", "dcterms":
	default:
		r.child = ""
		return
	}
	href, rel := "", "alternate"
	for _, a := range attributes {
		switch _, local := splitName(a.name); local {
		case "href":
			href = xmlValue(a.value)
		case "rel":
			rel = strings.ToLower(strings.TrimSpace(xmlValue(a.value)))
		case "isPermaLink":
			r.permalink = !strings.EqualFold(xmlValue(a.value), "false")
		}
	}
	if name == "link" && rel == "alternate" && r.found.link == "" {
		r.found.link = strings.TrimSpace(href)
	}
}

func (r *feedReader) close(path []string, text string) bool {
	switch {
	case r.depth == 0:
	case len(path) == r.depth:
		r.add()
		r.depth = 0
	case len(path) == r.depth+1 && text != "":
		r.closeChild(text)
	}
	return len(r.entries) < r.room.entries && !r.room.full
}

// closeChild handles the text of a direct child of an entry.
func (r *feedReader) closeChild(text string) {
	switch r.child {
	case "link":
		if r.found.link == "" {
			r.found.link = text
		}
	case "guid":
		if r.permalink {
			r.found.guid = text
		}
	case "updated", "modified":
		r.found.updated = text
	case "published", "pubDate", "date", "issued":
		r.found.published = text
	}
}

// add completes the open entry.
func (r *feedReader) add() {
	ref := r.found.link
	if ref == "" && isAbsolute(r.found.guid) {
		ref = r.found.guid
	}
	if ref == "" || len(ref) > maxReference {
		return
	}
	u, err := r.entryBase.Parse(ref)
	if err != nil {
		return
	}
	e := Entry{URL: u, LastMod: parseDate(r.found.updated), Priority: defaultPriority}
	if e.LastMod.IsZero() {
		e.LastMod = parseDate(r.found.published)
	}
	if r.room.take(u) {
		r.entries = append(r.entries, e)
	}
}

// baseOf returns the base of an element: its xml:base, resolved against the base of its parent.
func baseOf(base weburl.URL, attributes []attribute) weburl.URL {
	for _, a := range attributes {
		if string(a.name) == "xml:base" && len(a.value) <= maxReference {
			if u, err := base.Parse(xmlValue(a.value)); err == nil {
				return u
			}
		}
	}
	return base
}
