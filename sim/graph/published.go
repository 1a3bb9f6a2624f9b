package graph

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// readList reads the pages and links of a list, as ReadListed says: in the form in which J. Kleinberg published
// graphs, or in that of search engine courses.
func readList(in io.Reader, name string) (*list, error) {
	plain, err := unzip(in)
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", name, err)
	}
	r := &list{name: name, links: -1}
	lines := bufio.NewScanner(plain)
	lines.Buffer(make([]byte, 0, 1<<16), maxRecordLine)
	for lines.Scan() {
		r.line++
		if fields := strings.Fields(lines.Text()); len(fields) > 0 {
			if err := r.read(fields); err != nil {
				return nil, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		r.line++
		return nil, r.fault("%v", err)
	}
	return r, r.whole()
}

// list reads a graph as a list.
type list struct {
	name  string
	line  int
	first int // number of the first page
	pages int // from the first line; 0: it is not there
	links int // from the first line; -1: it is not there
	urls  []string
	lines []int // of the pages
	from  []uint32
	to    []uint32
}

func (r *list) fault(format string, args ...any) error {
	return fmt.Errorf("graph: %s:%d: %s", r.name, r.line, fmt.Sprintf(format, args...))
}

func (r *list) read(fields []string) error {
	switch {
	case r.line == 1 && fields[0] != "n":
		return r.counts(fields)
	case fields[0] == "n" && r.pages == 0:
		return r.page(fields[1:])
	case fields[0] == "e" && r.pages == 0:
		return r.link(fields[1:])
	case r.pages > 0 && len(r.urls) < r.pages:
		return r.page(fields)
	case r.pages > 0:
		return r.link(fields)
	}
	return r.fault("%.40q: want n, a number and a URL, or e and two numbers", strings.Join(fields, " "))
}

func (r *list) counts(fields []string) (err error) {
	if len(fields) < 2 {
		return r.fault("%.40q: want the numbers of pages and links", strings.Join(fields, " "))
	}
	if r.pages, err = r.number(fields[0], 1, math.MaxInt32); err != nil {
		return err
	}
	r.first = 1
	r.links, err = r.number(fields[1], 0, math.MaxInt32)
	return err
}

func (r *list) page(fields []string) error {
	if len(fields) != 2 {
		return r.fault("a page of %d fields: want its number and its URL", len(fields))
	}
	n, err := r.number(fields[0], 0, math.MaxInt32)
	if err != nil {
		return err
	}
	if want := len(r.urls) + r.first; n != want {
		return r.fault("page %d: want page %d", n, want)
	}
	r.urls, r.lines = append(r.urls, fields[1]), append(r.lines, r.line)
	return nil
}

func (r *list) link(fields []string) error {
	if len(fields) != 2 {
		return r.fault("a link of %d fields: want two pages", len(fields))
	}
	var ends [2]uint32
	for i, text := range fields {
		n, err := r.number(text, r.first, len(r.urls)+r.first-1)
		if err != nil {
			return err
		}
		ends[i] = uint32(n - r.first)
	}
	r.from, r.to = append(r.from, ends[0]), append(r.to, ends[1])
	return nil
}

// number parses a number from low to high.
func (r *list) number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, r.fault("%.40q: want a number from %d to %d", text, low, high)
	}
	return n, nil
}

// whole returns an error if the number of pages or links differs from the first line.
func (r *list) whole() error {
	switch {
	case len(r.urls) == 0 && r.pages == 0:
		return fmt.Errorf("graph: %s: the graph is empty: want a page", r.name)
	case len(r.urls) < r.pages:
		return r.fault("cut short: %d pages of %d", len(r.urls), r.pages)
	case r.links >= 0 && len(r.from) != r.links:
		return r.fault("cut short or too long: %d links, the first line says %d", len(r.from), r.links)
	}
	return nil
}

// rows returns what each page links to, in the order of the list.
func (r *list) rows() [][]uint32 {
	rows := make([][]uint32, len(r.urls))
	for i, from := range r.from {
		rows[from] = append(rows[from], r.to[i])
	}
	return rows
}
