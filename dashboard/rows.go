package dashboard

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/dashboard/units"
)

// Row is one line of a status, for people.
type Row struct{ Name, Value string }

// Rows reads a status, a JSON object, and returns its fields in their order, in human units. Fields that say nothing
// (null, 0, and objects of only these) are left out.
func Rows(status io.Reader) ([]Row, error) {
	decoder := json.NewDecoder(status)
	decoder.UseNumber()
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, fmt.Errorf("dashboard: status: %w", err)
	}
	var rows []Row
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("dashboard: status: %w", err)
		}
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("dashboard: status: %w", err)
		}
		if text := show(fmt.Sprint(name), value); text != "" && (!zero(value) || value == false) {
			rows = append(rows, Row{words(fmt.Sprint(name)), text})
		}
	}
	return rows, nil
}

// words returns the name of a field without the underscores and the unit, which the value has.
func words(name string) string {
	if strings.HasSuffix(name, "_per_s") || name == "_s" {
		return strings.ReplaceAll(name, "_", " ")
	}
	for _, unit := range []string{"_bytes", "_in_s", "_s"} {
		name = strings.TrimSuffix(name, unit)
	}
	return strings.ReplaceAll(name, "_", " ")
}

// show prints the value of a field for people: the pairs of an object by name, nothing for what says nothing.
func show(name string, value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case json.Number:
		return showNumber(name, value)
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(value)) {
			switch text := show(key, value[key]); {
			case text == "" || zero(value[key]):
			case isObject(value[key]):
				parts = append(parts, words(key)+" ("+text+")")
			default:
				parts = append(parts, words(key)+" "+text)
			}
		}
		return strings.Join(parts, ", ")
	case []any:
		var parts []string
		for _, one := range value {
			parts = append(parts, show(name, one))
		}
		return strings.Join(parts, ", ")
	}
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(value)); err == nil {
		return at.Format(time.RFC3339) // to the second
	}
	return fmt.Sprint(value)
}

func isObject(value any) bool {
	_, is := value.(map[string]any)
	return is
}

// zero reports whether a value of an object says nothing.
func zero(value any) bool {
	number, is := value.(json.Number)
	if f, err := number.Float64(); is && err == nil && f == 0 {
		return true
	}
	return value == false || value == ""
}

// longest is the number of seconds from which on a span stands for one that is not known.
const longest = 1e9

// showNumber prints a number in the unit that its field's name tells.
func showNumber(name string, n json.Number) string {
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	whole, err := n.Int64()
	switch {
	case strings.HasSuffix(name, "_bytes") && err == nil:
		return units.Bytes(whole)
	case strings.HasSuffix(name, "_s") && !strings.HasSuffix(name, "_per_s") && f >= longest:
		return "not known"
	case strings.HasSuffix(name, "_s") && !strings.HasSuffix(name, "_per_s"):
		return units.Span(time.Duration(f * 1e9))
	case err == nil:
		return units.Count(whole)
	}
	return fmt.Sprintf("%.4g", f)
}
