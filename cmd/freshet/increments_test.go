package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"freshet/consent"
	"freshet/feed/sink"
	"freshet/importer"
	"freshet/store"
	"freshet/store/retain"
	"freshet/weburl"
)

// TestIncrementsAddUp holds that whoever takes an export and then the exports of changes, at any times, has what a new
// export has: the same pages with the same lines, apart from groups and ranks, which only whole exports have. Meanwhile
// pages are added, change, disallow and allow uses, move, are gone, come back and are taken down. It holds for JSON and
// Parquet.
func TestIncrementsAddUp(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { incrementsAddUp(t, rand.New(rand.NewPCG(seed, 30))) })
	}
}

func incrementsAddUp(t *testing.T, rng *rand.Rand) {
	const pages, rounds = 24, 30
	s, err := store.Open("data", store.Options{FS: vfs.NewMem(), Crawl: "main", Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	// A reader has a copy, and the cursor of its last export.
	type reader struct {
		file   string
		uses   []consent.Use
		cursor string
		has    map[string]sink.Document
	}
	var readers []*reader
	for _, file := range []string{"a.jsonl", "a.jsonl.zst", "a.parquet"} {
		readers = append(readers, &reader{file: file, uses: consent.Uses()}, &reader{file: file, uses: []consent.Use{consent.Search}})
	}
	url := func(page int) string { return fmt.Sprintf("http://h%d.test/%d", page%3, page) }
	var begun []int // pages that have been visited
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for round := range rounds {
		in := importer.New(s)
		for range rng.IntN(12) {
			now = now.Add(time.Minute)
			page := rng.IntN(pages)
			at, head, again := url(page), "Content-Type: text/html\r\n", 1
			status, body := "200 OK", fmt.Sprintf("<title>Page %d</title><p>%s", page, said(rng))
			if !slices.Contains(begun, page) {
				begun = append(begun, page)
			}
			kinds := []string{"changes", "changes", "changes", "disallows", "disallows for models", "gone", "gone", "moves", "has no text", "is the same"}
			switch kinds[rng.IntN(len(kinds))] {
			case "disallows":
				head += "X-Robots-Tag: noai\r\n"
			case "disallows for models":
				head += "Content-Usage: train-ai=n\r\n"
			case "gone":
				status, body, again = "410 Gone", "gone", 1+rng.IntN(2)
			case "moves":
				status, again = "301 Moved Permanently", 2
				head += "Location: " + url(rng.IntN(pages)) + "\r\n"
			case "has no text":
				head = "Content-Type: image/png\r\n"
			case "is the same":
				body = fmt.Sprintf("<title>Page %d</title><p>Always the same.", page)
			}
			for range again {
				now = now.Add(time.Minute)
				if err := in.WARC(strings.NewReader(captureOf(now, at, status, head, body)), "test.warc"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.Flush(); err != nil {
			t.Fatal(err)
		}
		if len(begun) > 0 && rng.IntN(6) == 0 {
			u, err := weburl.Parse(url(begun[rng.IntN(len(begun))]))
			if err == nil {
				_, err = retain.Purge(t.Context(), s, now, store.Target{URL: u})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range readers {
			if rng.IntN(4) > 0 && round < rounds-1 {
				continue
			}
			lines, cursor := exportedLines(t, s, r.file, r.cursor, r.uses)
			if r.cursor == "" {
				r.has = lines
			}
			for at, line := range lines {
				if r.has[at] = line; line.Deleted {
					delete(r.has, at)
				}
			}
			r.cursor = cursor
			whole, _ := exportedLines(t, s, r.file, "", r.uses)
			if got, want := inJSON(t, r.has), inJSON(t, whole); got != want {
				t.Fatalf("round %d: by increments %s has\n%s\na whole export has\n%s", round, r.file, got, want)
			}
		}
	}
}

// captureOf returns a WARC record of an answer.
func captureOf(at time.Time, url, status, head, body string) string {
	block := fmt.Sprintf("HTTP/1.1 %s\r\n%s\r\n%s", status, head, body)
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-%012d>\r\nWARC-Date: %s\r\n"+
		"WARC-Target-URI: %s\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
		at.Unix(), at.Format(time.RFC3339), url, len(block), block)
}

// said returns a text of words that no other text has.
func said(rng *rand.Rand) string {
	var all strings.Builder
	for range 3 + rng.IntN(40) {
		fmt.Fprintf(&all, "%x ", rng.Uint32())
	}
	return all.String()
}

// inJSON returns the lines of an export, in the order of their URLs.
func inJSON(t *testing.T, lines map[string]sink.Document) string {
	t.Helper()
	var all strings.Builder
	for _, at := range slices.Sorted(maps.Keys(lines)) {
		line, err := json.Marshal(lines[at])
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(line, '\n'))
	}
	return all.String()
}

// exportedLines returns the lines of an export since a cursor, as a reader of the file has them, without groups and
// ranks, and the next cursor.
func exportedLines(t *testing.T, s *store.Store, file, since string, uses []consent.Use) (lines map[string]sink.Document, cursor string) {
	t.Helper()
	texts := newTextExport(s, since, uses)
	defer texts.close()
	var out bytes.Buffer
	if err := texts.write(t.Context(), &out, file, false); err != nil {
		t.Fatal(err)
	}
	var all []sink.Document
	if strings.HasSuffix(file, ".parquet") {
		var err error
		if all, err = parquet.Read[sink.Document](bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
			t.Fatal(err)
		}
	} else {
		var in io.Reader = &out
		if strings.HasSuffix(file, ".zst") {
			packed, err := zstd.NewReader(&out)
			if err != nil {
				t.Fatal(err)
			}
			defer packed.Close()
			in = packed
		}
		for lines := json.NewDecoder(in); ; {
			var line sink.Document
			if err := lines.Decode(&line); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, line)
		}
	}
	lines = map[string]sink.Document{}
	for _, line := range all {
		if _, twice := lines[line.URL]; twice {
			t.Errorf("%s: %s is there twice", file, line.URL)
		}
		line.Cluster, line.Rank = "", 0
		lines[line.URL] = line
	}
	return lines, texts.next.String()
}
