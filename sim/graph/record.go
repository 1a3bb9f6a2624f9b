package graph

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"freshet/sim/discovery"
)

// The format of a recorded web, docs/format/graph.md: lines of fields between tabs.
const (
	recordHeader  = "freshet-graph 1"
	maxRecordLine = 16 << 20
)

// Recorder writes a recorded web, site by site.
type Recorder struct {
	out *bufio.Writer
	err error
}

// NewRecorder returns a Recorder that writes to out. Call Close at the end.
func NewRecorder(out io.Writer) *Recorder {
	r := &Recorder{out: bufio.NewWriter(out)}
	r.printf("%s\n", recordHeader)
	return r
}

func (r *Recorder) printf(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.out, format, args...)
	}
}

// Site begins a site, with its name and its speed. The name must not contain tabs or line breaks.
func (r *Recorder) Site(name string, s discovery.Server) {
	r.printf("site\t%s\t%g\t%g\n", name, s.Latency, s.Rate)
}

// Page writes the next page of the site: its unique name, its size in bytes, and the names of the targets of its links.
// A name must not be empty or contain white space. The first Page or Miss of a site is its home.
func (r *Recorder) Page(name string, bytes float64, links []string) {
	r.entry("page", name, bytes, links)
}

// Miss writes a URL of the site that is crawled like a page but is not a page: an error, or a redirect whose only link
// is its target.
func (r *Recorder) Miss(name string, bytes float64, links []string) {
	r.entry("miss", name, bytes, links)
}

func (r *Recorder) entry(kind, name string, bytes float64, links []string) {
	r.printf("%s\t%s\t%g\t%s\n", kind, name, bytes, strings.Join(links, " "))
}

// Close writes what is left and returns the first error of all writes.
func (r *Recorder) Close() error {
	if err := r.out.Flush(); r.err == nil {
		r.err = err
	}
	return r.err
}

// Write writes the web in the format of Read, with all targets of its links. Names are numbers.
func (w *Stored) Write(out io.Writer) error {
	r := NewRecorder(out)
	var links []string
	for site := range uint32(w.Sites()) {
		r.Site(strconv.Itoa(int(site)), w.servers[site])
		first, end := w.Range(site)
		for page := first; page < end; page++ {
			links = links[:0]
			carried, ok := w.Carried(page)
			if !ok {
				carried = w.links.Out(page)
			}
			for _, to := range carried {
				links = append(links, w.nameOf(to))
			}
			write := r.Page
			if w.Miss(page) {
				write = r.Miss
			}
			write(strconv.FormatUint(uint64(page), 10), float64(w.bytes[page]), links)
		}
	}
	return r.Close()
}

// nameOf returns the name that Write gives a page or another target: a number. A target outside of the web gets a
// host without pages.
func (w *Stored) nameOf(number uint32) string {
	name := strconv.FormatUint(uint64(number), 10)
	if beyond := int(number) - w.Pages(); beyond >= 0 && w.carried.outside[beyond] {
		return "http://outside.invalid/" + name
	}
	return name
}

// Read reads a recorded web, with or without gzip. It leaves out links to pages that are not in the file, repeats, and
// links of a page to itself; Carried still returns them. Outside counts links to missing pages on hosts that have
// pages. An error begins with name and the line number. It takes about 100 bytes a name and 8 a link.
func Read(in io.Reader, name string) (*Stored, error) {
	plain, err := unzip(in)
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", name, err)
	}
	r := &reader{name: name, numbers: map[string]uint32{}, web: &Stored{}}
	r.lines = bufio.NewScanner(plain)
	r.lines.Buffer(make([]byte, 0, 1<<16), maxRecordLine)
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.finish()
}

// unzip returns the content of a stream that may be compressed by gzip.
func unzip(in io.Reader) (io.Reader, error) {
	b := bufio.NewReader(in)
	if magic, _ := b.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil
	}
	return gzip.NewReader(b)
}

// reader reads a recorded web. It numbers names in the order of their first appearance, as a page or in a link, and
// renumbers pages by place at the end.
type reader struct {
	name    string
	lines   *bufio.Scanner
	line    int
	web     *Stored
	numbers map[string]uint32 // of names
	place   []uint32          // by number: the page's place, or unplaced
	start   []uint32          // of each page's links in targets, by place
	targets []uint32          // of all links, by number
}

const unplaced = math.MaxUint32

func (r *reader) fault(format string, args ...any) error {
	return fmt.Errorf("graph: %s:%d: %s", r.name, r.line, fmt.Sprintf(format, args...))
}

func (r *reader) read() error {
	for r.lines.Scan() {
		r.line++
		text := r.lines.Text()
		if r.line == 1 {
			if text != recordHeader {
				return r.fault("%.40q: want %q", text, recordHeader)
			}
			continue
		}
		fields := strings.Split(text, "\t")
		var err error
		switch {
		case text == "" || text[0] == '#':
		case fields[0] == "site":
			err = r.site(fields[1:])
		case fields[0] == "page", fields[0] == "miss":
			err = r.page(fields[0], fields[1:])
		default:
			err = r.fault("%.40q: want site, page, miss or a comment", fields[0])
		}
		if err != nil {
			return err
		}
	}
	if err := r.lines.Err(); err != nil {
		r.line++
		if errors.Is(err, bufio.ErrTooLong) {
			return r.fault("longer than %d bytes", maxRecordLine)
		}
		return r.fault("%v", err)
	}
	if r.line == 0 {
		r.line = 1
		return r.fault("the file is empty: want %q", recordHeader)
	}
	return nil
}

func (r *reader) site(fields []string) error {
	if len(fields) != 3 {
		return r.fault("a site of %d fields: want name, latency and rate", len(fields))
	}
	latency, err := r.number("latency", fields[1], 1e6)
	if err != nil {
		return err
	}
	rate, err := r.number("rate", fields[2], 1e15)
	if err != nil {
		return err
	}
	w := r.web
	w.first = append(w.first, uint32(len(w.bytes)))
	w.servers = append(w.servers, discovery.Server{Latency: latency, Rate: rate})
	return nil
}

// page reads a line of that kind, page or miss.
func (r *reader) page(kind string, fields []string) error {
	w := r.web
	switch {
	case len(fields) != 3:
		return r.fault("a %s of %d fields: want name, bytes and links", kind, len(fields))
	case len(w.servers) == 0:
		return r.fault("a %s before the first site", kind)
	case fields[0] == "":
		return r.fault("a %s without a name", kind)
	case len(w.bytes) >= math.MaxInt32 || len(r.targets) >= math.MaxInt32:
		return r.fault("more than %d pages or links", math.MaxInt32)
	}
	size, err := r.number("bytes", fields[1], 1e12)
	if err != nil {
		return err
	}
	number := r.numberOf(fields[0])
	if r.place[number] != unplaced {
		return r.fault("%s %.80q is there twice", kind, fields[0])
	}
	r.place[number] = uint32(len(w.bytes))
	w.bytes, w.miss = append(w.bytes, float32(size)), append(w.miss, kind == "miss")
	r.start = append(r.start, uint32(len(r.targets)))
	for link := range strings.FieldsSeq(fields[2]) {
		r.targets = append(r.targets, r.numberOf(link))
	}
	return nil
}

func (r *reader) numberOf(name string) uint32 {
	number, ok := r.numbers[name]
	if !ok {
		number = uint32(len(r.place))
		r.numbers[strings.Clone(name)] = number
		r.place = append(r.place, unplaced)
	}
	return number
}

// number reads a number from 0 to high.
func (r *reader) number(what, text string, high float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= high) {
		return 0, r.fault("%s %.40q: want a number from 0 to %g", what, text, high)
	}
	return v, nil
}

// finish puts the links in their places.
func (r *reader) finish() (*Stored, error) {
	w := r.web
	if w.Pages() == 0 {
		return nil, fmt.Errorf("graph: %s: the web is empty: want a page", r.name)
	}
	w.homes = append([]uint32{}, w.first...)
	w.first = append(w.first, uint32(len(w.bytes)))
	w.carried = &carried{start: append(r.start, uint32(len(r.targets))), names: r.targets, outside: r.outside()}
	r.rename()
	return w, w.settle(len(r.place))
}

// outside reports, for each name that is not a page, by number, whether no page is on its host.
func (r *reader) outside() []bool {
	names := make([]string, len(r.place))
	hosts := map[string]bool{}
	for name, number := range r.numbers {
		if names[number] = host(name); r.place[number] != unplaced {
			hosts[names[number]] = true
		}
	}
	outside := make([]bool, 0, len(r.place)-r.web.Pages())
	for number, place := range r.place {
		if place == unplaced {
			outside = append(outside, !hosts[names[number]])
		}
	}
	return outside
}

// host returns a URL up to its path, and "" for a name that is not a URL.
func host(name string) string {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return ""
	}
	authority, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority
}

// rename renumbers every link: by the place of its page, or beyond the pages if it has none.
func (r *reader) rename() {
	beyond := uint32(r.web.Pages())
	for number, place := range r.place {
		if place == unplaced {
			r.place[number] = beyond
			beyond++
		}
	}
	for i, number := range r.targets {
		r.targets[i] = r.place[number]
	}
}
