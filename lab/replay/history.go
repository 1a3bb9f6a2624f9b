package replay

import (
	"bufio"
	"compress/gzip"
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

// A History is the recorded life of one page.
type History struct {
	Site, Path string
	Alive      bool      // at the end of observation
	End        float64   // of observation, or the removal, in unix seconds
	Times      []float64 // of the creation and of each update, rising, in unix seconds
	Noise      []float64 // of changes that a reader does not see, as Times
}

// maxRow is the largest row, in bytes. It bounds memory for a file without line ends, or with an unclosed quote.
const maxRow = 64 << 20

// columns are the columns of a file of histories. The last may be missing.
var columns = []string{"site", "page", "alive", "end", "times", "poll"}

// ReadHistories reads a CSV file of histories with the header "site,page,alive,end,times", compressed if its name
// ends in .gz. It ignores a sixth column, "poll", the observer's interval in seconds. Errors name the file, the line
// and the column.
func ReadHistories(name string) ([]History, error) {
	var histories []History
	err := readRows(name, columns, 5, func(row []string) (int, error) {
		h, column, err := parseHistory(row)
		histories = append(histories, h)
		return column, err
	})
	if err == nil && len(histories) == 0 {
		err = fmt.Errorf("replay: %s: no histories", name)
	}
	return histories, err
}

// Bulk is a set of landings. At a landing, many pages of a site change at once.
type Bulk map[landing]bool

type landing struct {
	site string
	time float64
}

// ReadBulk reads a CSV file of landings with the header "site,time,pages_touched", compressed if its name ends in
// .gz. It ignores a fourth column, "why".
func ReadBulk(name string) (Bulk, error) {
	bulk := make(Bulk)
	err := readRows(name, []string{"site", "time", "pages_touched", "why"}, 3, func(row []string) (int, error) {
		t, err := seconds(row[1])
		bulk[landing{row[0], t}] = true
		return 1, err
	})
	return bulk, err
}

// Drop removes the updates at landings. It keeps creations.
func (b Bulk) Drop(histories []History) {
	b.Silence(histories)
	for i := range histories {
		histories[i].Noise = nil
	}
}

// Silence turns the updates at landings into noise. It keeps creations.
func (b Bulk) Silence(histories []History) {
	for i := range histories {
		h := &histories[i]
		kept := slices.Clone(h.Times[:1])
		for _, t := range h.Times[1:] {
			if b[landing{h.Site, t}] {
				h.Noise = append(h.Noise, t)
			} else {
				kept = append(kept, t)
			}
		}
		h.Times = kept
	}
}

// readRows calls row for each row after the header, which must have at least the first least columns of header. An
// error of row is about the column that row returns.
func readRows(name string, header []string, least int, row func([]string) (column int, err error)) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer file.Close()
	in := io.Reader(bufio.NewReaderSize(file, 1<<16))
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return fmt.Errorf("replay: %s: not gzip: %w", name, err)
		}
	}
	limit := &io.LimitedReader{R: in}
	table := csv.NewReader(limit)
	table.ReuseRecord = true
	coming := 1 // line of the next row, unless an earlier row contains line ends
	read := func() ([]string, error) {
		limit.N = maxRow
		row, err := table.Read()
		if limit.N <= 0 {
			return nil, fmt.Errorf("line %d or after: a row of more than %d bytes", coming, maxRow)
		}
		coming++
		return row, err
	}
	first, err := read()
	if err == nil || errors.Is(err, csv.ErrFieldCount) {
		if n := len(first); n < least || n > len(header) || !slices.Equal(first, header[:n]) {
			return fmt.Errorf("replay: %s:1: columns %q: want %q", name, strings.Join(first, ","), strings.Join(header[:least], ","))
		}
	}
	for ; err == nil; first, err = read() {
		if line, _ := table.FieldPos(0); line > 1 {
			if column, err := row(first); err != nil {
				line, _ := table.FieldPos(column)
				return fmt.Errorf("replay: %s:%d: column %d (%s): %w", name, line, column+1, header[column], err)
			}
		}
	}
	var parse *csv.ParseError
	switch {
	case err == io.EOF:
		return nil
	case errors.Is(err, csv.ErrFieldCount) && errors.As(err, &parse):
		return fmt.Errorf("replay: %s:%d: %d columns: want %d", name, parse.Line, len(first), table.FieldsPerRecord)
	case errors.As(err, &parse):
		return fmt.Errorf("replay: %s:%d: column %d: %w", name, parse.Line, parse.Column, parse.Err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("replay: %s: truncated: the compressed data ends too early", name)
	}
	return fmt.Errorf("replay: %s: %w", name, err)
}

// parseHistory returns the history of a row, or an error and its column.
func parseHistory(row []string) (History, int, error) {
	h := History{Site: strings.Clone(row[0]), Path: strings.Clone(row[1])}
	switch row[2] {
	case "0":
	case "1":
		h.Alive = true
	default:
		return h, 2, fmt.Errorf("%q: want 0 or 1", row[2])
	}
	var err error
	if h.End, err = seconds(row[3]); err != nil {
		return h, 3, err
	}
	for field := range strings.SplitSeq(row[4], " ") {
		t, err := seconds(field)
		if err != nil {
			return h, 4, err
		}
		if n := len(h.Times); n > 0 && t <= h.Times[n-1] {
			return h, 4, fmt.Errorf("time %s is not after the one before it, %.0f", field, h.Times[n-1])
		}
		if t > h.End {
			return h, 4, fmt.Errorf("time %s is after the end, %s", field, row[3])
		}
		h.Times = append(h.Times, t)
	}
	return h, 0, nil
}

// seconds parses a time, 0 or more seconds.
func seconds(field string) (float64, error) {
	t, err := strconv.ParseFloat(field, 64)
	if err != nil || math.IsNaN(t) || math.IsInf(t, 0) || t < 0 {
		return 0, fmt.Errorf("time %q: want 0 or more unix seconds", field)
	}
	return t, nil
}
