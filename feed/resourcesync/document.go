package resourcesync

import (
	"bufio"
	"encoding/xml"
	"net/http"

	"freshet/clock"
	"freshet/feed"
)

// listMeta is the element rs:md: the metadata of a list or an entry.
type listMeta struct {
	Capability string `xml:"capability,attr,omitempty"`
	At         string `xml:"at,attr,omitempty"`
	From       string `xml:"from,attr,omitempty"`
	Until      string `xml:"until,attr,omitempty"`
	Change     string `xml:"change,attr,omitempty"`
	DateTime   string `xml:"datetime,attr,omitempty"`
	Hash       string `xml:"hash,attr,omitempty"`
	Length     int64  `xml:"length,attr,omitempty"`
	Type       string `xml:"type,attr,omitempty"`
}

// listLink is the element rs:ln: a link of a list or an entry.
type listLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

// listItem is an entry of a list, or a list of an index.
type listItem struct {
	Loc     string     `xml:"loc"`
	LastMod string     `xml:"lastmod,omitempty"`
	Meta    listMeta   `xml:"rs:md"`
	Links   []listLink `xml:"rs:ln"`
}

// bufferBytes is the size of the write buffer.
const bufferBytes = 64 << 10

// document is a sitemap that is being written. After an error of the client, the rest is dropped.
type document struct {
	out     *bufio.Writer
	encoder *xml.Encoder
	root    string
	item    xml.StartElement
	err     error
}

// beginDocument begins a sitemap, or an index of sitemaps, with its root element, links and metadata.
func beginDocument(w http.ResponseWriter, c *clock.Clock, root string, is listMeta, links []listLink) *document {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriterSize(feed.NewWriter(w, c), bufferBytes)
	d := &document{out: out, encoder: xml.NewEncoder(out), root: root, item: element("url")}
	if root == "sitemapindex" {
		d.item = element("sitemap")
	}
	_, d.err = out.WriteString(xml.Header + "<" + root +
		` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">` + "\n")
	for _, l := range links {
		d.element(l, element("rs:ln"))
	}
	d.element(is, element("rs:md"))
	return d
}

func element(name string) xml.StartElement { return xml.StartElement{Name: xml.Name{Local: name}} }

// add writes an entry.
func (d *document) add(i listItem) { d.element(i, d.item) }

// element writes one element as a line.
func (d *document) element(v any, start xml.StartElement) {
	if d.err == nil {
		d.err = d.encoder.EncodeElement(v, start)
	}
	if d.err == nil {
		d.err = d.out.WriteByte('\n')
	}
}

// end completes the document, unless there was an error.
func (d *document) end() {
	if d.err != nil {
		return
	}
	if _, err := d.out.WriteString("</" + d.root + ">\n"); err == nil {
		_ = d.out.Flush() // the client has gone
	}
}
