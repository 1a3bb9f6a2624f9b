package dashboard

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Row is one line of a status, for people.
type Row struct{ Name, Value string }

// Rows reads a status, a JSON object, and returns its fields in their order.
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
		rows = append(rows, Row{strings.ReplaceAll(fmt.Sprint(name), "_", " "), show(value)})
	}
	return rows, nil
}

// show prints a JSON value for people: the pairs of an object by name, - for null.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "-"
	case map[string]any:
		if len(value) == 0 {
			return "none"
		}
	case []any:
		if len(value) == 0 {
			return "none"
		}
	default:
		return fmt.Sprint(value)
	}
	text, err := json.Marshal(value) // sorts by name
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.NewReplacer(`"`, "", "{", "", "}", "", ":", " ", ",", ", ").Replace(string(text))
}
