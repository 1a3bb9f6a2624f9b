package graph

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"freshet/importance"
)

// ReadGaps reads a graph as gaps, compressed by gzip or not. The file is unsigned LEB128 numbers. First comes the
// number of pages. Then come, for each page, the number of its links, the first target, and for each further target its
// distance from the one before, less one. Targets rise, so a page has no repeats. Links of a page to itself stay. An
// error says where the file is cut short, or which page links out of the graph.
func ReadGaps(in io.Reader, name string) (*importance.Graph, error) {
	plain, err := unzip(in)
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", name, err)
	}
	r := gaps{name: name, in: bufio.NewReader(plain)}
	pages, err := r.number("the number of pages", math.MaxInt32)
	if err != nil {
		return nil, err
	}
	if pages == 0 {
		return nil, fmt.Errorf("graph: %s: the graph is empty: want a page", name)
	}
	var b importance.Builder
	var targets []uint32
	for r.page = range pages {
		if targets, err = r.links(targets[:0], pages); err != nil {
			return nil, err
		}
		if err := b.Add(targets); err != nil {
			return nil, fmt.Errorf("graph: %s: %w", name, err)
		}
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		return nil, fmt.Errorf("graph: %s: more bytes after the last of %d pages", name, pages)
	}
	return b.Graph()
}

// gaps reads a graph as gaps.
type gaps struct {
	name string
	in   *bufio.Reader
	page uint64 // being read
}

// links appends the links of a page.
func (r *gaps) links(dst []uint32, pages uint64) ([]uint32, error) {
	degree, err := r.number("the number of links", pages)
	if err != nil {
		return nil, err
	}
	next := uint64(0)
	for range degree {
		gap, err := r.number("a target", pages)
		if err != nil {
			return nil, err
		}
		if next += gap; next >= pages {
			return nil, fmt.Errorf("graph: %s: page %d links to page %d of %d, numbered from 0", r.name, r.page, next, pages)
		}
		dst = append(dst, uint32(next))
		next++
	}
	return dst, nil
}

// number reads a number up to most.
func (r *gaps) number(what string, most uint64) (uint64, error) {
	n, err := binary.ReadUvarint(r.in)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return 0, fmt.Errorf("graph: %s: cut short at page %d: want %s", r.name, r.page, what)
	}
	if err != nil {
		return 0, fmt.Errorf("graph: %s: page %d: %s: %w", r.name, r.page, what, err)
	}
	if n > most {
		return 0, fmt.Errorf("graph: %s: page %d: %s is %d: want at most %d", r.name, r.page, what, n, most)
	}
	return n, nil
}
