package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"freshet/dashboard/units"
)

// Row is one line of a status, for people. The rows of an object begin with its name.
type Row struct{ Name, Value string }

// Rows reads a status, a JSON object, and returns its fields in order, in human units. Of a large object whose members
// are alike, only the largest are returned. Fields without information (null, 0, and objects of only these) are left
// out. Of the fleet's theory, only what it means is returned.
func Rows(status io.Reader) ([]Row, error) {
	text, err := io.ReadAll(status)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := ordered(decoder)
	if err != nil {
		return nil, fmt.Errorf("dashboard: status: %w", err)
	}
	n, err := decodeNow(text)
	if err != nil {
		return nil, err
	}
	var rows []Row
	fields, _ := value.([]member)
	for _, field := range fields {
		if field.name == "fleet" {
			rows = append(rows, paceRows(n)...)
			continue
		}
		if seconds, is := field.value.(json.Number); is && unknown(field.name, seconds) {
			continue
		}
		if field.name == "remaining_s" && n.Refresh != nil { // such a crawl does not end
			continue
		}
		rows = addRows(rows, "", cmp.Or(namedAnew[field.name], field.name), field.value)
	}
	return rows, nil
}

// namedAnew are fields of a status whose names alone say too little to people.
var namedAnew = map[string]string{
	"pages": "pages_fetched_in_this_run", "requisites": "requisites_fetched_in_this_run", "urls_failed": "requests_failed",
	"bytes": "received_in_this_run_bytes", "body_bytes": "all_versions_bytes", "clean_stop": "last_run_ended_cleanly",
	"pages_per_s": "stored_on_average_per_s", "recent_pages_per_s": "stored_now_per_s", "recent_bytes_per_s": "received_now_bytes_per_s",
}

// unknown reports whether a field is a forecast that says nothing: one that is not known, or a bound of another one.
func unknown(name string, n json.Number) bool {
	f, err := n.Float64()
	return name == "remaining_lower_bound_s" || err == nil && f >= longest && (name == "disk_full_in_s" || name == "remaining_earliest_s" || name == "remaining_latest_s")
}

// member is a field of an object: values are those of encoding/json, but objects are []member, in their order.
type member struct {
	name  string
	value any
}

// ordered decodes a value.
func ordered(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := ordered(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token() // the closing bracket
		return list, err
	case json.Delim('{'):
		members := []member{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := ordered(decoder)
			if err != nil {
				return nil, err
			}
			members = append(members, member{fmt.Sprint(name), value})
		}
		_, err = decoder.Token()
		return members, err
	}
	return token, nil
}

// membersShown bounds the members of a large object that are shown.
const membersShown = 12

// addRows adds the rows of a field, those of an object below it.
func addRows(rows []Row, above, name string, value any) []Row {
	title := strings.TrimSpace(above + " " + words(name))
	switch value := value.(type) {
	case []member:
		if name == "sites" && strings.Contains(above, "spent") { // the window shows them
			return rows
		}
		if name == "by" { // what the bytes belong to
			title = above
		}
		for i, one := range largestFirst(value) {
			switch {
			case i == membersShown && alike(value):
				return append(rows, Row{title, "and " + units.Count(int64(len(value)-i)) + " more, see --json"})
			case name == "by":
				rows = append(rows, Row{title + " " + one.name, show("by_bytes", one.value)})
			default:
				rows = addRows(rows, title, one.name, one.value)
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

// largestFirst returns the members that have information: as they come, or the largest first where they are alike and
// too many to be shown.
func largestFirst(members []member) []member {
	members = slices.DeleteFunc(slices.Clone(members), func(one member) bool { return silent(one.value) })
	if len(members) > membersShown && alike(members) {
		slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(size(b.value), size(a.value)) })
	}
	return members
}

// alike reports whether all members are numbers, or all are objects: then their names are data.
func alike(members []member) bool {
	numbers, objects := 0, 0
	for _, one := range members {
		switch one.value.(type) {
		case json.Number:
			numbers++
		case []member:
			objects++
		}
	}
	return numbers == len(members) || objects == len(members)
}

// size returns a number, or the first number of an object.
func size(value any) float64 {
	switch value := value.(type) {
	case json.Number:
		f, _ := value.Float64() // 0 where it is too large to be one
		return f
	case []member:
		if len(value) > 0 {
			return size(value[0].value)
		}
	}
	return 0
}

// words returns the name of a field without underscores and without the unit, which the value shows.
func words(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	for _, unit := range []string{"_bytes_per_s", "_per_s", "_bytes", "_in_s", "_s"} {
		if bare, has := strings.CutSuffix(name, unit); has {
			name = bare + map[string]string{"_in_s": " in"}[unit]
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
	case []member:
		var parts []string
		for _, one := range value {
			if !silent(one.value) {
				parts = append(parts, words(one.name)+" "+show(one.name, one.value))
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
var sharesOf = []string{"freshness", "freshness_low", "freshness_high", "weighted", "uniform"}

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
	case strings.HasSuffix(name, "_bytes_per_s"):
		return units.Bytes(int64(f)) + "/s"
	case strings.HasSuffix(name, "_per_s"):
		return pace(f)
	case strings.HasSuffix(name, "_bytes") && err == nil:
		return units.Bytes(whole)
	case strings.HasSuffix(name, "_s") && f >= longest:
		return "not known"
	case strings.HasSuffix(name, "_s"):
		return units.Span(time.Duration(f * 1e9))
	case slices.Contains(sharesOf, name):
		return percent(f)
	case err == nil:
		return units.Count(whole)
	}
	return amount(f)
}
