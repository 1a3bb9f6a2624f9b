package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// known prints how much memory a URL takes that Freshet knows and has not fetched. It crawls twice, the same number
// of pages, and the pages of the second crawl link to many more. The result is the growth of peak memory.
func known(args []string) error {
	flags := flag.NewFlagSet("known", flag.ExitOnError)
	freshet := flags.String("freshet", "freshet", "the program measured")
	port := flags.Int("port", 8098, "that all hosts listen at")
	pages := flags.Int("pages", 5000, "fetched")
	many := flags.Int("many", 100_000, "known, of which that many are fetched")
	links := flags.Int("links", 40, "that a page has, which must be enough for that many to be known")
	rounds := flags.Int("rounds", 3, "of each; the medians are compared")
	if err := flags.Parse(args); err != nil {
		return err
	}
	few, err := knownOf(*freshet, *port, *links, *pages, *pages, *rounds)
	if err != nil {
		return err
	}
	more, err := knownOf(*freshet, *port+1, *links, *pages, *many, *rounds)
	if err != nil {
		return err
	}
	fmt.Println("| fetched | known | peak memory, MiB: least | median | greatest |\n| ---: | ---: | ---: | ---: | ---: |")
	for _, m := range []measured{few, more} {
		fmt.Printf("| %d | %d | %.1f | %.1f | %.1f |\n", *pages, m.known, m.peaks[0], m.median(), m.peaks[len(m.peaks)-1])
	}
	fmt.Printf("\n%.0f bytes a URL that is known\n", (more.median()-few.median())*(1<<20)/float64(more.known-few.known))
	return nil
}

// measured are the peaks of memory, in MiB and sorted, of crawls that knew that many URLs at their end.
type measured struct {
	known int
	peaks []float64
}

func (m measured) median() float64 { return m.peaks[len(m.peaks)/2] }

// knownOf crawls a web that shows known URLs until pages of them are fetched.
func knownOf(freshet string, port, links, pages, known, rounds int) (m measured, err error) {
	dir, err := os.MkdirTemp("", "known")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	seeds, err := serveTree(port, links, known)
	if err != nil {
		return m, err
	}
	file := filepath.Join(dir, "seeds")
	if err := os.WriteFile(file, []byte(strings.Join(seeds, "\n")), 0o644); err != nil {
		return m, err
	}
	for range rounds {
		out, used := filepath.Join(dir, "out"), filepath.Join(dir, "used")
		cmd := exec.Command("/usr/bin/time", "-q", "-o", used, "-f", "%M", freshet, "crawl", "--seeds", file, "--data", out,
			"--allow-private", "--delay", "0s", "--listen=", "--quiet", "--json", "--max-pages", strconv.Itoa(pages))
		said, _ := cmd.Output() // its exit code says that it stopped at its limit
		var summary struct {
			Known int `json:"urls_discovered"`
		}
		if err := json.Unmarshal(said, &summary); err != nil {
			return m, fmt.Errorf("freshet said %q: %w", said, err)
		}
		text, err := os.ReadFile(used)
		if err != nil {
			return m, err
		}
		kilobytes, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			return m, err
		}
		m.known, m.peaks = summary.Known, append(m.peaks, kilobytes/1024)
		if err := os.RemoveAll(out); err != nil {
			return m, err
		}
	}
	slices.Sort(m.peaks)
	return m, nil
}

// serveTree serves a web of 100 hosts, a tree each. A page has 20 KB and the given number of links within its host,
// until all pages have shown known URLs. It returns the home pages.
func serveTree(port, links, known int) (seeds []string, err error) {
	const hosts = 100
	text := string(newProse(rand.New(rand.NewPCG(1, 1))).page("/", slices.Repeat([]string{"/"}, pageLinks)))
	handler := http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var page int
		if _, err := fmt.Sscanf(r.URL.Path, "/p/%d", &page); r.URL.Path != "/" && err != nil {
			http.NotFound(out, r)
			return
		}
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		for child := page*links + 1; child <= page*links+links && child < known/hosts; child++ {
			fmt.Fprintf(out, "<a href=\"/p/%d\">%d</a>\n", child, child)
		}
		fmt.Fprintf(out, "<p>%s, page %d</p>\n%s", r.Host, page, text)
	})
	for host := range hosts {
		address := fmt.Sprintf("127.1.0.%d:%d", host+1, port)
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		go http.Serve(listener, handler)
		seeds = append(seeds, "http://"+address+"/")
	}
	return seeds, nil
}
