package lab

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is a table as text.
type table struct {
	header []string
	cells  [][]string
	right  []bool // columns of numbers
}

// rowTable returns the table of rows, whose columns are those of all rows in order of appearance.
func rowTable(rows []Row) table {
	var t table
	for _, row := range rows {
		for _, f := range row {
			if !slices.Contains(t.header, f.Name) {
				t.header = append(t.header, f.Name)
			}
		}
	}
	for _, row := range rows {
		cells := make([]string, len(t.header))
		for i, name := range t.header {
			cells[i] = cellText(row.Get(name))
		}
		t.cells = append(t.cells, cells)
	}
	for _, name := range t.header {
		_, isText := firstOf(rows, name).(string)
		t.right = append(t.right, !isText)
	}
	return t
}

func firstOf(rows []Row, name string) any {
	for _, row := range rows {
		if v := row.Get(name); v != nil {
			return v
		}
	}
	return nil
}

func comparisonTable(all []Comparison) table {
	t := table{
		header: []string{"compared", "published", "reference", "measured", "difference", "allowed", "verdict", "source"},
		right:  []bool{false, true, true, true, true, true, false, false},
	}
	for _, c := range all {
		t.cells = append(t.cells, []string{c.What, numberText(c.Published), numberText(c.Reference), cellText(c.Measured),
			fmt.Sprintf("%+.2g", c.Measured-c.Expected()), fmt.Sprintf("%.2g", c.Tolerance), string(c.Verdict()), c.Source})
	}
	return t
}

// numberText is cellText of a number that may be missing.
func numberText(v *float64) string {
	if v == nil {
		return cellText(nil)
	}
	return cellText(*v)
}

func claimTable(all []Claim) table {
	t := table{header: []string{"claim", "verdict", "evidence"}, right: make([]bool, 3)}
	for _, c := range all {
		t.cells = append(t.cells, []string{c.Claim, string(c.Verdict), c.Evidence})
	}
	return t
}

// cellText returns a value as a table shows it: numbers with six digits.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case float64:
		switch {
		case math.IsNaN(v):
			return "–"
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			return strconv.FormatFloat(v, 'f', -1, 64)
		case math.Abs(v) >= 1e5 && math.Abs(v) < 1e15:
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	case []float64:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = strconv.FormatFloat(x, 'g', 3, 64)
		}
		return strings.Join(parts, " ")
	}
	return fmt.Sprint(v)
}

// write writes the table with aligned columns.
func (t table) write(w io.Writer) error {
	widths := make([]int, len(t.header))
	lines := append([][]string{t.header}, t.cells...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case t.right[i]:
				b.WriteString(space + cell)
			case i < len(line)-1:
				b.WriteString(cell + space)
			default:
				b.WriteString(cell)
			}
			if i < len(line)-1 {
				b.WriteString("  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// WriteTable writes the rows, and any comparisons and claims, as tables of text.
func (r *Result) WriteTable(w io.Writer) error {
	var err error
	for i, t := range []table{rowTable(r.Rows), comparisonTable(r.Comparisons), claimTable(r.Claims)} {
		if len(t.cells) == 0 {
			continue
		}
		if i > 0 {
			_, e := fmt.Fprintln(w)
			err = cmp.Or(err, e)
		}
		err = cmp.Or(err, t.write(w))
	}
	return err
}
