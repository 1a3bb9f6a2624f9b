package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Row holds named values. JSON and tables keep their order.
type Row []Field

// Field is one value of a row: a string, a bool, a number, or a slice of numbers. NaN and infinities
// are null in JSON.
type Field struct {
	Name  string
	Value any
}

// makeRow returns the row of alternating names and values. An Interval makes two columns: the mean under its name,
// and half the interval's width under the name with "_ci".
func makeRow(pairs []any) Row {
	if len(pairs)%2 != 0 {
		panic(fmt.Sprintf("lab: Row: %d names and values: want alternating names and values", len(pairs)))
	}
	row := make(Row, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok || !snake(name) {
			panic(fmt.Sprintf("lab: Row: name %v: want lower case letters, digits and _", pairs[i]))
		}
		if interval, ok := pairs[i+1].(Interval); ok {
			row = append(row, Field{name, interval.Mean}, Field{name + "_ci", interval.Half})
		} else {
			row = append(row, Field{name, pairs[i+1]})
		}
	}
	return row
}

func snake(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Get returns the value of that name, nil if there is none.
func (r Row) Get(name string) any {
	for _, f := range r {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// parameter returns a flag as a field.
func parameter(f *pflag.Flag) Field {
	name, text := strings.ReplaceAll(f.Name, "-", "_"), f.Value.String()
	switch f.Value.Type() {
	case "bool":
		return Field{name, text == "true"}
	case "int", "int64", "uint64", "float64":
		return Field{name, number(text)}
	}
	return Field{name, text}
}

// number returns text as an int64, uint64 or float64, or text itself if it is not a number.
func number(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}

// MarshalJSON returns an object with the fields in order.
func (r Row) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range r {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, f.Name)
		b = append(b, ':')
		value, err := json.Marshal(finite(f.Value))
		if err != nil {
			return nil, fmt.Errorf("lab: %s: %w", f.Name, err)
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// finite returns nil for NaN and infinities, which JSON cannot express, and v otherwise.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	case []float64:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = finite(x)
		}
		return all
	}
	return v
}

// UnmarshalJSON reads an object and keeps the order of its values. No value may be an object.
func (r *Row) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return fmt.Errorf("lab: row %.20q: want an object", text)
	}
	*r = Row{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		*r = append(*r, Field{name.(string), plain(value)})
	}
	return nil
}

// plain returns a decoded value as a row stores it.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		return number(v.String())
	case []any:
		numbers := make([]float64, 0, len(v))
		for _, x := range v {
			n, ok := x.(json.Number)
			if !ok {
				return v
			}
			f, err := n.Float64()
			if err != nil {
				return v
			}
			numbers = append(numbers, f)
		}
		return numbers
	}
	return value
}
