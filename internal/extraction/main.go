// Command extraction measures how well package text finds main text, on sets of pages with marked main text.
//
//	go run ./internal/extraction [-least BYTES] [-most BYTES] [-times N] [-results FILE] wcxb FOLDER
//	go run ./internal/extraction [-least BYTES] [-most BYTES] [-times N] [-results FILE] scrapinghub FOLDER
//	go run ./internal/extraction signals OLDER NEWER
//
// FOLDER is a part of WCXB, dev or test (github.com/Murrough-Foley/web-content-extraction-benchmark), or a copy of
// github.com/scrapinghub/article-extraction-benchmark. The scores are as the evaluate.py of each defines them. With
// -results the texts are written in the form that evaluate.py reads. Pages smaller than -least or larger than -most
// are left out. With -times each page is read so often, for the speed. signals counts the pages that differ between two
// versions of a folder, by each change signal.
package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"freshet/text"
	"freshet/weburl"
)

func main() {
	results := flag.String("results", "", "file that the texts are written to, for the set's own evaluate.py")
	least := flag.Int("least", 0, "bytes of a page, at least")
	most := flag.Int("most", math.MaxInt, "bytes of a page, at most")
	times := flag.Int("times", 1, "how often each page is read, for the pages a second of few pages")
	flag.Parse()
	if flag.Arg(0) == "signals" {
		if err := signals(flag.Arg(1), flag.Arg(2)); err != nil {
			fmt.Fprintln(os.Stderr, "extraction:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(flag.Arg(0), flag.Arg(1), *results, *least, *most, *times); err != nil {
		fmt.Fprintln(os.Stderr, "extraction:", err)
		os.Exit(1)
	}
}

func run(set, folder, results string, least, most, times int) error {
	var pages []*page
	var err error
	switch set {
	case "wcxb":
		pages, err = wcxb(folder)
	case "scrapinghub":
		pages, err = scrapinghub(folder)
	default:
		return errors.New("want: extraction [-results FILE] wcxb|scrapinghub FOLDER")
	}
	if err != nil {
		return err
	}
	if pages, err = read(folder, pages, least, most, times); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	if set == "wcxb" {
		reportWords(out, pages)
	} else {
		reportShingles(out, pages)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if results == "" {
		return nil
	}
	return write(results, set, pages)
}

// page is a page of a set.
type page struct {
	name, url, kind, want string // want is its main text
	got                   string
}

func wcxb(folder string) (pages []*page, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "ground-truth", "*.json"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no ground-truth/*.json in %s", folder)
	}
	for _, file := range files {
		var truth struct {
			URL      string `json:"url"`
			Internal struct {
				Kind struct {
					Primary string `json:"primary"`
				} `json:"page_type"`
			} `json:"_internal"`
			Truth struct {
				Main string `json:"main_content"`
			} `json:"ground_truth"`
		}
		if err := load(file, &truth); err != nil {
			return nil, err
		}
		kind := strings.Replace(truth.Internal.Kind.Primary, "category", "collection", 1)
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		pages = append(pages, &page{name: name, url: truth.URL, kind: kind, want: truth.Truth.Main})
	}
	return pages, err
}

func scrapinghub(folder string) (pages []*page, err error) {
	var truth map[string]struct {
		Body string `json:"articleBody"`
		URL  string `json:"url"`
	}
	err = load(filepath.Join(folder, "ground-truth.json"), &truth)
	for name, t := range truth {
		pages = append(pages, &page{name: name, url: t.URL, kind: "article", want: t.Body})
	}
	slices.SortFunc(pages, func(a, b *page) int { return cmp.Compare(a.name, b.name) })
	return pages, err
}

func load(file string, into any) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// read reads the main text of each page in the range of sizes alone, that many times, and prints the cost.
func read(folder string, all []*page, least, most, times int) (pages []*page, err error) {
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	bytes, spent := 0, time.Duration(0)
	for _, p := range all {
		body, err := unzip(filepath.Join(folder, "html", p.name+".html.gz"))
		if err != nil {
			return nil, err
		}
		if len(body) < least || len(body) > most {
			continue
		}
		pages = append(pages, p)
		own, err := weburl.Parse(p.url)
		if err != nil {
			own, _ = weburl.Parse("http://page.invalid/")
		}
		bytes += len(body)
		begun := processor()
		for range times {
			parsed, err := text.Parse("text/html; charset=utf-8", body, text.Limits{})
			if err != nil {
				fmt.Fprintln(os.Stderr, p.name, err)
				break
			}
			p.got = e.Read(context.Background(), parsed, own, nil, false).Text
		}
		spent += processor() - begun
	}
	n := len(pages)
	if n == 0 {
		return nil, errors.New("no page of such a size")
	}
	fmt.Printf("%d pages of %d KB; %.1f pages/s of one core\n", n, bytes/n/1000, float64(n*times)/spent.Seconds())
	return pages, nil
}

// processor returns the processor time of this process, garbage collection included.
func processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func unzip(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(z)
}

// write writes the texts in the format of the set's own script.
func write(name, set string, pages []*page) error {
	out := map[string]any{}
	for _, p := range pages {
		if out[p.name] = p.got; set == "scrapinghub" {
			out[p.name] = map[string]string{"articleBody": p.got}
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o600)
}
