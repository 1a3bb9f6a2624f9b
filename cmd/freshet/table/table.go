// Package table reads tables that people hand to freshet: CSV files with a header, and Parquet files.
package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// MaxRow bounds what is read for a row of a table, so that a file without line ends, or with a quote
// that nothing closes, is refused and not swallowed.
const MaxRow = 16 << 20

// SkipMark skips the byte order mark of UTF-8 at the beginning of a text, if it has one.
func SkipMark(text *bufio.Reader) {
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		_, _ = text.Discard(3)
	}
}

// A Table is a CSV file with a header or a Parquet file, read row by row. Its errors begin with
// file:line:column, or with file, row and column of a Parquet file.
type Table struct {
	File   string // as its errors name it
	rows   rows
	column map[string]int
	names  []string // of the columns, in the file's order
	row    []string
	close  func() error
}

// rows is what a table is read from.
type rows interface {
	// next returns a row, valid until the next call, and io.EOF after the last. Other errors name the place.
	next() ([]string, error)
	// line returns the number of the line, or the row, that was read.
	line() int
	// place returns where a field of that row is, as errors begin.
	place(field int, name string) string
}

// Open opens a file, or in for "-" unless that is nil, and reads its header: columns in any order, each of those known
// and none twice, the needed ones among them.
func Open(file string, in io.Reader, known []string, needed ...string) (*Table, error) {
	t := &Table{File: file, close: func() error { return nil }}
	var whole *os.File
	switch {
	case file == "-" && in == nil:
		return nil, errors.New("-: standard input is not read here: want a file")
	case file == "-":
		t.File = "standard input"
	default:
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		in, whole, t.close = f, f, f.Close
	}
	limit := &io.LimitedReader{R: in, N: MaxRow}
	source := bufio.NewReaderSize(limit, 1<<20)
	SkipMark(source)
	magic, _ := source.Peek(4)
	err := t.open(newCSVRows(t.File, source, limit), whole, string(magic) == "PAR1")
	if err == nil {
		err = t.header(known, needed)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// Read begins to read a CSV file from in: its header, like Open. Errors use name; comma separates fields.
func Read(name string, in io.Reader, comma rune, known []string, needed ...string) (*Table, error) {
	limit := &io.LimitedReader{R: in}
	rows := newCSVRows(name, limit, limit)
	rows.csv.Comma = comma
	t := &Table{File: name, close: func() error { return nil }}
	if err := t.open(rows, nil, false); err != nil {
		return nil, err
	}
	return t, t.header(known, needed)
}

// open begins to read the rows, those of CSV unless the whole file is Parquet, and sets names.
func (t *Table) open(rows *csvRows, whole *os.File, isParquet bool) (err error) {
	if !isParquet {
		t.rows = rows
		names, err := rows.next()
		t.names = slices.Clone(names)
		if err == io.EOF {
			return nil
		}
		return err
	}
	if whole == nil {
		return fmt.Errorf("%s: is a Parquet file, which is read from its end: want a file", t.File)
	}
	parquet, err := openParquet(whole)
	if err == nil {
		t.rows, t.names = parquet, parquet.names
	}
	return err
}

// header finds out where the columns are.
func (t *Table) header(known, needed []string) error {
	t.column = map[string]int{}
	if len(t.names) == 0 {
		return fmt.Errorf("%s:1:1: no header: want columns %s", t.File, strings.Join(known, ", "))
	}
	for i, name := range t.names {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return t.faultAt(i, "unknown column %q: want %s", name, strings.Join(known, ", "))
		}
		if _, twice := t.column[name]; twice {
			return t.faultAt(i, "column %q occurs twice", name)
		}
		t.column[strings.Clone(name)] = i
	}
	for _, name := range needed {
		if !t.Has(name) {
			return fmt.Errorf("%s: no column %q", t.rows.place(0, ""), name)
		}
	}
	return nil
}

// Close closes the file.
func (t *Table) Close() error { return t.close() }

// Next reads a row and reports whether there was one.
func (t *Table) Next() (bool, error) {
	row, err := t.rows.next()
	if err == io.EOF {
		return false, nil
	}
	t.row = row
	return err == nil, err
}

// Has reports whether the table has a column.
func (t *Table) Has(name string) bool {
	_, ok := t.column[name]
	return ok
}

// Line returns the line on which the row begins, or the row's number.
func (t *Table) Line() int { return t.rows.line() }

// Fault returns an error at a column of the row, or at the row's beginning if it has no such column.
func (t *Table) Fault(name, format string, args ...any) error {
	return t.faultAt(t.column[name], format, args...)
}

func (t *Table) faultAt(field int, format string, args ...any) error {
	return fmt.Errorf("%s: %s", t.rows.place(field, t.names[field]), fmt.Sprintf(format, args...))
}

// Text returns a field without space around it, empty if there is none.
func (t *Table) Text(name string) string {
	i, ok := t.column[name]
	if !ok {
		return ""
	}
	return strings.TrimSpace(t.row[i])
}

// Number returns a field as a number from low to high, absent if it is empty.
func (t *Table) Number(name string, absent, low, high float64) (float64, error) {
	text := t.Text(name)
	if text == "" {
		return absent, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, t.Fault(name, "%s %q: want a number", name, text)
	}
	return v, t.within(name, v, low, high)
}

// within returns an error unless low ≤ v ≤ high.
func (t *Table) within(name string, v, low, high float64) error {
	switch {
	case v >= low && v <= high:
		return nil
	case high == math.MaxFloat64:
		return t.Fault(name, "%s %v: want a finite number of at least %v", name, v, low)
	}
	return t.Fault(name, "%s %v: want a number from %v to %v", name, v, low, high)
}

// Whole returns a field as a whole number from low to high, absent if it is empty.
func (t *Table) Whole(name string, absent, low, high int) (int, error) {
	text := t.Text(name)
	if text == "" {
		return absent, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high {
		return 0, t.Fault(name, "%s %q: want a whole number from %d to %d", name, text, low, high)
	}
	return v, nil
}

// List returns a field's numbers, which stand between semicolons, each from low to high.
func (t *Table) List(name string, low, high float64) ([]float64, error) {
	text := t.Text(name)
	if text == "" {
		return nil, nil
	}
	var all []float64
	for part := range strings.SplitSeq(text, ";") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, t.Fault(name, "%s %q: want numbers with ; between", name, part)
		}
		if err := t.within(name, v, low, high); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Unique returns an error if a key has been seen on an earlier row, and remembers it.
func (t *Table) Unique(name, key string, seen map[string]int) error {
	if line, twice := seen[key]; twice {
		return t.Fault(name, "%s %q is on line %d already", name, key, line)
	}
	seen[key] = t.Line()
	return nil
}

// csvRows are the rows of a CSV file, the header the first.
type csvRows struct {
	file   string
	csv    *csv.Reader
	limit  *io.LimitedReader // of what is read for one row
	begins int               // the line after the row that was read last
}

// newCSVRows returns the rows of source, which reads from limit.
func newCSVRows(file string, source io.Reader, limit *io.LimitedReader) *csvRows {
	c := &csvRows{file: file, csv: csv.NewReader(source), limit: limit, begins: 1}
	c.csv.ReuseRecord = true
	return c
}

func (c *csvRows) next() ([]string, error) {
	c.limit.N = MaxRow
	row, err := c.csv.Read()
	if c.limit.N <= 0 {
		return nil, fmt.Errorf("%s:%d:1: a row of more than %d bytes: is a quote open, or are there no line ends?", c.file, c.begins, MaxRow)
	}
	if err == nil {
		last := len(row) - 1
		line, _ := c.csv.FieldPos(last)
		c.begins = line + strings.Count(row[last], "\n") + 1
	}
	if fault, ok := errors.AsType[*csv.ParseError](err); ok {
		if errors.Is(err, csv.ErrFieldCount) {
			return nil, fmt.Errorf("%s:%d:%d: %d fields, but the header has %d", c.file, fault.Line, fault.Column, len(row), c.csv.FieldsPerRecord)
		}
		return nil, fmt.Errorf("%s:%d:%d: %w", c.file, fault.Line, fault.Column, fault.Err)
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", c.file, err)
	}
	return row, err
}

func (c *csvRows) line() int {
	line, _ := c.csv.FieldPos(0)
	return line
}

func (c *csvRows) place(field int, _ string) string {
	line, column := c.csv.FieldPos(field)
	return fmt.Sprintf("%s:%d:%d", c.file, line, column)
}
