package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"freshet/cmd/freshet/command"
	"freshet/store"
	"freshet/weburl"
)

// The most URLs and bytes of a sitemap (sitemaps.org).
const (
	sitemapURLs  = 50_000
	sitemapBytes = 50 << 20
)

const (
	sitemapHead = xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n"
	sitemapTail = "</urlset>\n"
)

// sitemaps writes live pages to one sitemap or, if they are too many, to several with an index.
type sitemaps struct {
	file      string // of the only one, or of the index
	published string // the folder's URL, for the index
	urls      int    // largest number in a file

	page  bytes.Buffer // the sitemap that is being filled
	count int          // URLs in it
	parts int          // sitemaps that are full
}

// writeSitemaps writes the live pages of a site ("": of all) that may be indexed, with the time of their last
// observed change. The file is FILE.xml, or DIR/sitemap.xml. If that cannot hold all pages, it becomes an index of
// further files beside it, with their URLs below published.
func writeSitemaps(s *store.Store, target, site, published string) error {
	m := &sitemaps{file: target, published: published, urls: sitemapURLs}
	if filepath.Ext(target) != ".xml" {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		m.file = filepath.Join(target, "sitemap.xml")
	}
	m.page.WriteString(sitemapHead)
	for p := range s.Partitions() {
		for row, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				return err
			}
			if row.State != store.StateLive || row.NoIndex || site != "" && string(row.URL.Site()) != site {
				continue
			}
			if err := m.add(row.URL, row.LastChanged); err != nil {
				return err
			}
		}
	}
	return m.end()
}

func (m *sitemaps) add(u weburl.URL, changed int64) error {
	var entry bytes.Buffer
	entry.WriteString("<url><loc>")
	if err := xml.EscapeText(&entry, []byte(u.String())); err != nil {
		return err
	}
	entry.WriteString("</loc>")
	if changed != 0 {
		fmt.Fprintf(&entry, "<lastmod>%s</lastmod>", time.Unix(0, changed).UTC().Format(time.RFC3339))
	}
	entry.WriteString("</url>\n")
	if m.count == m.urls || m.page.Len()+entry.Len()+len(sitemapTail) > sitemapBytes {
		if err := m.part(); err != nil {
			return err
		}
	}
	m.page.Write(entry.Bytes())
	m.count++
	return nil
}

// part writes the full sitemap beside the index and begins another.
func (m *sitemaps) part() error {
	if m.published == "" {
		return command.Usage(fmt.Errorf("this needs several sitemaps and an index with their URLs: add --sitemap-url, the URL where they will be"))
	}
	m.parts++
	err := m.write(m.partFile(m.parts))
	m.page.Reset()
	m.page.WriteString(sitemapHead)
	m.count = 0
	return err
}

func (m *sitemaps) partFile(n int) string {
	return fmt.Sprintf("%s-%d.xml", strings.TrimSuffix(m.file, ".xml"), n)
}

func (m *sitemaps) write(file string) error {
	m.page.WriteString(sitemapTail)
	return command.WriteFile(file, func(w io.Writer) error {
		_, err := w.Write(m.page.Bytes())
		return err
	})
}

// end writes the last sitemap, and the index if there is one.
func (m *sitemaps) end() error {
	if m.parts == 0 {
		return m.write(m.file)
	}
	if err := m.part(); err != nil {
		return err
	}
	var index bytes.Buffer
	index.WriteString(xml.Header + `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for n := range m.parts {
		at, err := url.JoinPath(m.published, filepath.Base(m.partFile(n+1)))
		if err != nil {
			return err
		}
		index.WriteString("<sitemap><loc>")
		if err := xml.EscapeText(&index, []byte(at)); err != nil {
			return err
		}
		index.WriteString("</loc></sitemap>\n")
	}
	index.WriteString("</sitemapindex>\n")
	return command.WriteFile(m.file, func(w io.Writer) error {
		_, err := w.Write(index.Bytes())
		return err
	})
}
