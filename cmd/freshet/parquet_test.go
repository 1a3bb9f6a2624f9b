package main

import (
	"bytes"
	"encoding/xml"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"freshet/dashboard"
	"freshet/weburl"
)

// parquetPlan is a row of pages for `freshet plan`.
type parquetPlan struct {
	URL     string    `parquet:"url"`
	Weight  *float64  `parquet:"weight,optional"`
	Process string    `parquet:"process"`
	Rate    float64   `parquet:"rate"`
	Max     int32     `parquet:"max"`
	Times   []float64 `parquet:"times,list"`
	Likely  []float64 `parquet:"probabilities,list"`
}

func writePlan(t *testing.T, rows ...parquetPlan) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pages.parquet")
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPlanReadsParquet holds that pages are planned alike from CSV and from Parquet, and that a fault names
// row and column.
func TestPlanReadsParquet(t *testing.T) {
	two := 2.0
	file := writePlan(t,
		parquetPlan{URL: "http://a.test/", Weight: &two, Rate: 1, Max: 3},
		parquetPlan{URL: "http://b.test/", Process: "quasi", Rate: 1, Max: 3, Times: []float64{600, 1200}, Likely: []float64{0.5, 0.25}})
	table := filepath.Join(t.TempDir(), "pages.csv")
	put(t, table, "url,weight,process,rate,max,times,probabilities\nhttp://a.test/,2,,1,3,,\nhttp://b.test/,,quasi,1,3,600;1200,0.5;0.25\n")
	fromCSV, _ := freshet(t, 0, "plan", "--pages", table, "--budget", "3", "--out", "-")
	fromParquet, _ := freshet(t, 0, "plan", "--pages", file, "--budget", "3", "--out", "-")
	if fromCSV != fromParquet || strings.Count(fromCSV, "\n") != 3 {
		t.Errorf("CSV gives\n%sParquet\n%s", fromCSV, fromParquet)
	}
	file = writePlan(t, parquetPlan{URL: "http://a.test/", Rate: 1, Max: 3}, parquetPlan{URL: "http://b.test/", Rate: -1, Max: 3})
	if _, said := freshet(t, 1, "plan", "--pages", file, "--budget", "3"); !strings.Contains(said, "pages.parquet: row 2, column rate: rate -") {
		t.Errorf("a rate below 0: %s", said)
	}
}

// parquetSighting is a row of a log for `freshet weights`.
type parquetSighting struct {
	Query    string `parquet:"query"`
	URL      string `parquet:"url"`
	Page     *int32 `parquet:"page,optional"`
	Position *int32 `parquet:"position,optional"`
	Clicked  bool   `parquet:"clicked"`
	Changed  *int64 `parquet:"changed,optional"`
	Answer   string `parquet:"answer"`
}

// TestWeightsReadsParquet holds that a log of queries gives the same weights as CSV and as Parquet.
func TestWeightsReadsParquet(t *testing.T) {
	dir := t.TempDir()
	table, file := filepath.Join(dir, "log.csv"), filepath.Join(dir, "log.parquet")
	put(t, table, "query,url,page,position,clicked,changed,answer\nq,http://a.test/,1,2,1,1,wrong\nq,http://b.test/,,,0,,\nr,http://b.test/,1,1,0,0,\n")
	one, two, changed, unchanged := int32(1), int32(2), int64(1), int64(0)
	rows := []parquetSighting{
		{Query: "q", URL: "http://a.test/", Page: &one, Position: &two, Clicked: true, Changed: &changed, Answer: "wrong"},
		{Query: "q", URL: "http://b.test/"},
		{Query: "r", URL: "http://b.test/", Page: &one, Position: &one, Changed: &unchanged},
	}
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	fromCSV, saidOfCSV := freshet(t, 0, "weights", "--log", table)
	fromParquet, saidOfParquet := freshet(t, 0, "weights", "--log", file)
	if fromCSV != fromParquet || saidOfCSV != saidOfParquet || strings.Count(fromCSV, "\n") != 3 {
		t.Errorf("CSV gives\n%s%sParquet\n%s%s", fromCSV, saidOfCSV, fromParquet, saidOfParquet)
	}
	rows[1].Clicked = true
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	if _, said := freshet(t, 1, "weights", "--log", file); !strings.Contains(said, "log.parquet: row 2, column clicked: clicked, but not returned") {
		t.Errorf("a click on nothing: %s", said)
	}
}

// onePage is a Reader of a page table of one row.
type onePage struct {
	dashboard.Reader
	page dashboard.Page
}

func (o onePage) Pages(dashboard.Filter) iter.Seq2[dashboard.Page, error] {
	return func(yield func(dashboard.Page, error) bool) { yield(o.page, nil) }
}

func TestWriteParquet(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 5000, time.UTC)
	var file bytes.Buffer
	if err := writeParquet(&file, onePage{page: dashboard.Page{URL: "http://a.test/", State: "live", Version: 3, LastFetched: &at}}); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[parquetPage](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if r := rows[0]; r.URL != "http://a.test/" || r.State != "live" || r.Version != 3 || !r.LastFetched.Equal(at) || r.LastChanged != nil {
		t.Errorf("%+v", r)
	}
}

// TestSitemaps holds that too many pages for one sitemap go to several, and that an index has their URLs.
func TestSitemaps(t *testing.T) {
	dir := t.TempDir()
	m := &sitemaps{file: filepath.Join(dir, "sitemap.xml"), published: "https://a.test/maps", urls: 2}
	m.page.WriteString(sitemapHead)
	for _, raw := range []string{"http://a.test/?a&b", "http://a.test/2", "http://a.test/3"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.add(u, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.end(); err != nil {
		t.Fatal(err)
	}
	type locations struct {
		URLs []struct {
			Loc     string `xml:"loc"`
			LastMod string `xml:"lastmod"`
		} `xml:"url"`
		Parts []struct {
			Loc string `xml:"loc"`
		} `xml:"sitemap"`
	}
	parse := func(name string) (l locations) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second, index := parse("sitemap-1.xml"), parse("sitemap-2.xml"), parse("sitemap.xml")
	if len(first.URLs) != 2 || len(second.URLs) != 1 || first.URLs[0].Loc != "http://a.test/?a&b" || first.URLs[0].LastMod != "1970-01-01T00:00:00Z" {
		t.Errorf("%+v and %+v", first, second)
	}
	if len(index.Parts) != 2 || index.Parts[1].Loc != "https://a.test/maps/sitemap-2.xml" {
		t.Errorf("index %+v", index)
	}
	m = &sitemaps{file: filepath.Join(dir, "other.xml"), urls: 1}
	u, _ := weburl.Parse("http://a.test/")
	if err := m.add(u, 0); err != nil {
		t.Fatal(err)
	}
	if err := m.add(u, 0); err == nil {
		t.Error("an index without a place")
	}
}
