package main

import (
	"io"
	"time"

	"github.com/parquet-go/parquet-go"

	"freshet/dashboard"
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

// writeParquet writes the page table.
func writeParquet(w io.Writer, r dashboard.Reader) error {
	out := parquet.NewGenericWriter[parquetPage](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowGroup))
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
