package table

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// parquetRows are the rows of a Parquet file as text: numbers as they are, the elements of a list with ;
// between, nothing for null.
type parquetRows struct {
	file   string
	names  []string        // of the columns
	reader *parquet.Reader //nolint:staticcheck // the other readers need a type for the rows
	next1  [1]parquet.Row
	fields []string
	number int // of the row
}

// openParquet begins to read a file.
func openParquet(f *os.File) (rows *parquetRows, err error) {
	defer broken(f.Name(), &err)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	rows = &parquetRows{file: f.Name(), reader: parquet.NewReader(file)}
	for _, path := range file.Schema().Columns() {
		rows.names = append(rows.names, path[0]) // of a list the rest is form
	}
	rows.fields = make([]string, len(rows.names))
	return rows, nil
}

// broken turns a panic, which is what the Parquet reader makes of some damage, into an error.
func broken(file string, err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("%s: damaged Parquet file: %v", file, fault)
	}
}

func (p *parquetRows) next() (fields []string, err error) {
	defer broken(p.file, &err)
	n, err := p.reader.ReadRows(p.next1[:])
	if n == 0 {
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%s: row %d: %w", p.file, p.number+1, err)
		}
		return nil, err
	}
	p.number++
	p.next1[0].Range(func(column int, values []parquet.Value) bool {
		parts := make([]string, 0, 1)
		for _, v := range values {
			parts = append(parts, textOf(v))
		}
		p.fields[column] = strings.Join(parts, ";")
		return true
	})
	return p.fields, nil
}

// textOf returns a value as a CSV file would have it.
func textOf(v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case v.Kind() == parquet.Boolean && v.Boolean():
		return "1"
	case v.Kind() == parquet.Boolean:
		return "0"
	case v.Kind() == parquet.ByteArray:
		return string(v.ByteArray())
	case v.Kind() == parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case v.Kind() == parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	}
	return v.String()
}

func (p *parquetRows) line() int { return p.number }

func (p *parquetRows) place(_ int, name string) string {
	if p.number == 0 || name == "" {
		return p.file
	}
	return fmt.Sprintf("%s: row %d, column %s", p.file, p.number, name)
}
