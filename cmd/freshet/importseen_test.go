package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/seen"
)

// TestImportIsSeen holds that the set of seen URLs has what was imported, so that the next crawl need not read all
// pages before its first request. A set that lacks stored pages stays lost.
func TestImportIsSeen(t *testing.T) {
	list, data := filepath.Join(t.TempDir(), "urls"), filepath.Join(t.TempDir(), "data")
	imports := func(from, to int) {
		t.Helper()
		var urls strings.Builder
		for n := from; n < to; n++ {
			fmt.Fprintf(&urls, "http://site-%d.test/page-%d.html\n", n%7, n)
		}
		put(t, list, urls.String())
		freshet(t, 0, "import", "--data", data, list)
	}
	is := func(lost bool, known int64) {
		t.Helper()
		set, err := seen.Open(filepath.Join(data, "seen", "main"), seen.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if set.Lost() != lost || set.Known() != known {
			t.Errorf("lost %t, %d known: want %t, %d", set.Lost(), set.Known(), lost, known)
		}
		if err := set.Close(); err != nil {
			t.Fatal(err)
		}
	}
	imports(0, 3000)
	is(false, 3000)
	imports(2000, 5000)
	is(false, 5000)
	if err := os.RemoveAll(filepath.Join(data, "seen")); err != nil {
		t.Fatal(err)
	}
	imports(4000, 6000)
	is(true, 0)
}
