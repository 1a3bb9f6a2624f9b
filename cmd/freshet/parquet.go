package main

import (
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"freshet/dashboard"
	"freshet/store"
	"freshet/weburl"
)

// parquetPage is a row of the page table with the columns of `freshet pages --json`.
type parquetPage struct {
	URL         string     `parquet:"url"`
	Site        string     `parquet:"site,dict"`
	State       string     `parquet:"state,dict"`
	Status      int32      `parquet:"status"`
	ContentType string     `parquet:"content_type,dict"`
	Digest      string     `parquet:"digest"`
	Version     int64      `parquet:"version"`
	FirstSeen   *time.Time `parquet:"first_seen,optional,timestamp(microsecond)"`
	LastFetched *time.Time `parquet:"last_fetched,optional,timestamp(microsecond)"`
	LastChanged *time.Time `parquet:"last_changed,optional,timestamp(microsecond)"`
	NextDue     *time.Time `parquet:"next_due,optional,timestamp(microsecond)"`
	Depth       int32      `parquet:"depth"`
	Reason      string     `parquet:"reason,dict"`
	RedirectsTo string     `parquet:"redirects_to"`
}

// rowGroup is how many rows of a Parquet file are held in memory before they are written.
const rowGroup = 100_000

// newParquet returns a writer of rows. It buffers group rows in memory.
func newParquet[T any](w io.Writer, group int64) *parquet.GenericWriter[T] {
	return parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(group))
}

// writeParquet writes the page table.
func writeParquet(w io.Writer, r dashboard.Reader) error {
	out := newParquet[parquetPage](w, rowGroup)
	for p, err := range r.Pages(dashboard.Filter{}) {
		if err != nil {
			return err
		}
		row := parquetPage{p.URL, p.Site, p.State, int32(p.Status), p.ContentType, p.Digest, int64(p.Version),
			p.FirstSeen, p.LastFetched, p.LastChanged, p.NextDue, int32(p.Depth), p.Reason, p.RedirectsTo}
		if _, err := out.Write([]parquetPage{row}); err != nil {
			return err
		}
	}
	return out.Close()
}

// ccCapture is a stored version with those columns of Common Crawl's index that Freshet knows.
type ccCapture struct {
	SURT             string    `parquet:"url_surtkey"`
	URL              string    `parquet:"url"`
	Host             string    `parquet:"url_host_name,dict"`
	TLD              *string   `parquet:"url_host_tld,optional,dict"`
	RegisteredDomain *string   `parquet:"url_host_registered_domain,optional,dict"`
	Protocol         string    `parquet:"url_protocol,dict"`
	Port             *int32    `parquet:"url_port,optional"` // only if it is not the default port
	Path             string    `parquet:"url_path"`
	Query            *string   `parquet:"url_query,optional"`
	Time             time.Time `parquet:"fetch_time,timestamp(millisecond)"`
	Status           int32     `parquet:"fetch_status"`
	Digest           string    `parquet:"content_digest"`
	MIME             string    `parquet:"content_mime_type,dict"`
	Charset          *string   `parquet:"content_charset,optional,dict"`
	File             string    `parquet:"warc_filename,dict"`
	Offset           int64     `parquet:"warc_record_offset"`
	Length           int64     `parquet:"warc_record_length"`
}

// writeCCIndex writes a row for every stored version whose target served accepts (nil: all).
func writeCCIndex(w io.Writer, s *store.Store, served func(target string) (bool, error)) error {
	out := newParquet[ccCapture](w, rowGroup)
	for p := range s.Partitions() {
		for row, err := range s.Pages(weburl.Partition(p)) {
			if err != nil {
				return err
			}
			if row.Versions == 0 {
				continue
			}
			if served != nil {
				if may, err := served(row.URL.String()); err != nil {
					return err
				} else if !may {
					continue
				}
			}
			versions, err := s.Versions(weburl.Partition(p), row.Fingerprint)
			if err != nil {
				return err
			}
			for _, v := range versions {
				if v.Capture.IsZero() {
					continue
				}
				if _, err := out.Write([]ccCapture{ccCaptureOf(row.URL, v)}); err != nil {
					return err
				}
			}
		}
	}
	return out.Close()
}

func ccCaptureOf(u weburl.URL, v store.Version) ccCapture {
	known := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	media, _, _ := strings.Cut(v.ContentType, ";")
	c := ccCapture{
		SURT: u.SURT(), URL: u.String(), Host: u.Host(), Protocol: u.Scheme(), Path: u.Path(), Query: known(u.Query()),
		Time: time.Unix(0, v.At).UTC(), Status: int32(v.Status), Digest: strings.TrimPrefix(v.BodyDigest.String(), "sha1:"),
		MIME: strings.TrimSpace(media), Charset: known(v.Charset),
		File: v.Capture.File, Offset: v.Capture.Offset, Length: v.Capture.Length,
	}
	if _, err := netip.ParseAddr(strings.Trim(u.Host(), "[]")); err != nil { // a name
		domain := u.Domain()
		c.RegisteredDomain, c.TLD = known(domain), known(domain[strings.LastIndexByte(domain, '.')+1:])
	}
	if standard := map[string]uint16{"http": 80, "https": 443}[u.Scheme()]; u.Port() != standard {
		port := int32(u.Port())
		c.Port = &port
	}
	return c
}
