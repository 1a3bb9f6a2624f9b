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

// Row is one line of a status, for people. The rows of an object begin with its name.
type Row struct{ Name, Value string }

// Rows reads a status, a JSON object, and returns its fields in order, in human units. Fields of inner objects are
// sorted by name; of large objects only the first are returned. Fields without information (null, 0, and objects of
// only these) are left out.
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
		rows = addRows(rows, "", fmt.Sprint(name), value)
	}
	return rows, nil
}

// membersShown bounds the members of an object that are shown.
const membersShown = 12

// addRows adds the rows of a field, those of an object below it.
func addRows(rows []Row, above, name string, value any) []Row {
	title := strings.TrimSpace(above + " " + words(name))
	switch value := value.(type) {
	case map[string]any:
		if name == "by" { // what the bytes belong to
			title = above
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(value)), func(key string) bool { return silent(value[key]) })
		for i, key := range names {
			switch {
			case i == membersShown:
				return append(rows, Row{title, "and " + units.Count(int64(len(names)-i)) + " more, see --json"})
			case name == "by":
				rows = append(rows, Row{title + " " + key, show("by_bytes", value[key])})
			default:
				rows = addRows(rows, title, key, value[key])
			}
		}
		return rows
	case []any:
		for _, one := range value {
			if !silent(one) {
				rows = append(rows, Row{title, show(name, one)})
			}
		}
		return rows
	}
	if text := show(name, value); text != "" && (!silent(value) || value == false && above == "") {
		rows = append(rows, Row{title, text})
	}
	return rows
}

// words returns the name of a field without underscores and without the unit, which the value shows.
func words(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	for _, unit := range []string{"_per_s", "_bytes", "_in_s", "_s"} {
		if bare, has := strings.CutSuffix(name, unit); has {
			name = bare + map[string]string{"_per_s": " per second", "_in_s": " in"}[unit]
			break
		}
	}
	return strings.ReplaceAll(name, "_", " ")
}

// show prints the value of a field for people, the pairs of an object by name. It returns "" for values without
// information.
func show(name string, value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case json.Number:
		return showNumber(name, value)
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !silent(value[key]) {
				parts = append(parts, words(key)+" "+show(key, value[key]))
			}
		}
		return strings.Join(parts, ", ")
	}
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(value)); err == nil {
		return at.Format(time.RFC3339) // to the second
	}
	return fmt.Sprint(value)
}

// silent reports whether a value has no information.
func silent(value any) bool {
	number, is := value.(json.Number)
	if f, err := number.Float64(); is && err == nil && f == 0 {
		return true
	}
	return value == nil || value == false || value == ""
}

// sharesOf are the fields that are parts of a whole.
var sharesOf = []string{"freshness", "weighted", "uniform", "starvation"}

// longest is the number of seconds from which on a span means unknown.
const longest = 1e9

// showNumber prints a number in the unit that the name of its field ends in.
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
	case slices.Contains(sharesOf, name):
		return percent(f)
	case err == nil:
		return units.Count(whole)
	}
	return fmt.Sprintf("%.3g", f)
}
