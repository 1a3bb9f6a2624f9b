package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"freshet/extract"
	"freshet/text"
	"freshet/weburl"
)

// signals compares two versions of a folder of pages. It counts the pages in both whose bytes differ, and of these
// the ones whose visible text and whose main text differ.
func signals(older, newer string) error {
	var both, bytes, visible, main, mainOnly int
	parser := extract.NewParser(extract.Options{})
	header := http.Header{"Content-Type": {"text/html"}}
	err := filepath.WalkDir(newer, func(path string, file fs.DirEntry, err error) error {
		if err != nil || !file.Type().IsRegular() || !strings.HasPrefix(strings.ToLower(filepath.Ext(path)), ".htm") {
			return err
		}
		below, err := filepath.Rel(newer, path)
		if err != nil {
			return err
		}
		var bodies [2][]byte
		var texts, mains [2][16]byte
		for i, root := range []string{older, newer} {
			if bodies[i], err = os.ReadFile(filepath.Join(root, below)); err != nil {
				return nil //nolint:nilerr // a new page
			}
			texts[i] = parser.Extract(header, bodies[i], weburl.URL{}).Text
			mains[i] = texts[i]
			page, err := text.Parse("text/html", bodies[i], text.Limits{})
			if err != nil {
				return err
			}
			if digest, ok := page.MainDigest(); ok {
				mains[i] = digest
			}
		}
		both++
		count := func(n *int, differs bool) {
			if differs {
				*n++
			}
		}
		count(&bytes, string(bodies[0]) != string(bodies[1]))
		count(&visible, texts[0] != texts[1])
		count(&main, mains[0] != mains[1])
		count(&mainOnly, mains[0] != mains[1] && texts[0] == texts[1])
		return nil
	})
	fmt.Printf("%d pages in both; %d differ, %d in the visible text, %d in the main text (%d of them not in the visible text)\n", both, bytes, visible, main, mainOnly)
	return err
}
