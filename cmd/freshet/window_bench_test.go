package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"freshet/dashboard"
	"freshet/store"
)

// BenchmarkWindow measures an answer of the window and of the API on 10,000 sites of 30 pages each, which it imports
// first: by the clock, and in the processor's time, which others on the machine hardly change.
func BenchmarkWindow(b *testing.B) {
	list, data := filepath.Join(b.TempDir(), "urls"), filepath.Join(b.TempDir(), "data")
	file, err := os.Create(list)
	if err != nil {
		b.Fatal(err)
	}
	urls := bufio.NewWriter(file)
	for site := range 10_000 {
		for page := range 30 {
			fmt.Fprintf(urls, "http://site-%d.example/a/page-%d.html\n", site, page)
		}
	}
	if err := urls.Flush(); err != nil {
		b.Fatal(err)
	}
	if code := run(b.Context(), []string{"import", "--data", data, list}); code != 0 {
		b.Fatalf("import ends with %d", code)
	}
	s, err := openStore(data, store.Options{Crawl: "main", ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	window := dashboard.Handler(apiOptions(newReader(s), nil))
	for _, path := range []string{"/", "/sites", "/sites?sort=pages&backward=true", "/sites?q=site-7", "/trouble", "/find?q=site-1", "/find?q=page-77",
		"/page?url=http://site-5.example/a/page-3.html", "/api/v1/sites?limit=1000", "/api/v1/skipped", "/api/v1/skipped?after=0/", "/api/v1/pages?site=http://site-5.example"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			var before, after syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				answer := httptest.NewRecorder()
				window.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
				if answer.Code != http.StatusOK {
					text, _ := io.ReadAll(answer.Body)
					b.Fatalf("%d %s", answer.Code, text)
				}
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
				b.Fatal(err)
			}
			worked := func(u syscall.Rusage) float64 { return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6 }
			b.ReportMetric((worked(after)-worked(before))/float64(b.N), "processor-ms/op")
		})
	}
}
