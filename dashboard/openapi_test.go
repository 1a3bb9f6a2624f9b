package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// steered notes the orders it gets.
type steered struct{ got *[]any }

func (s steered) note(o any) (Report, error) {
	*s.got = append(*s.got, o)
	return Report{Pages: 2, Refused: map[string]string{"http://a.test/": "scope"}, Changes: []string{"delay: 1s → 2s"}}, nil
}

func (s steered) Add(o AddOrder) (Report, error)       { return s.note(o) }
func (s steered) Pace(o PaceOrder) (Report, error)     { return s.note(o) }
func (s steered) Pause(o SiteOrder) (Report, error)    { return s.note(o) }
func (s steered) Resume(o SiteOrder) (Report, error)   { return s.note(o) }
func (s steered) Recrawl(o PagesOrder) (Report, error) { return s.note(o) }
func (s steered) Block(o BlockOrder) (Report, error)   { return s.note(o) }
func (s steered) Unblock(o HostOrder) (Report, error)  { return s.note(o) }
func (s steered) Purge(o PurgeOrder) (Report, error)   { return s.note(o) }
func (s steered) Reload(o ReloadOrder) (Report, error) { return s.note(o) }
func (s steered) Ping(o PingOrder) (Report, error)     { return s.note(o) }

// fakeStatus is the status that fake returns, as far as the description knows it.
type fakeStatus struct {
	Pages  int              `json:"pages_stored"`
	Errors map[string]int64 `json:"errors"`
	Note   string           `json:"note"`
}

type fakeExplanation struct {
	StoppedBy string `json:"stopped_by"`
}

func steeredHandler() (http.Handler, *[]any) {
	got := &[]any{}
	return Handler(Options{Reader: fake{}, Steerer: steered{got}, Version: "test", Nodes: func() Nodes { return Nodes{} }, Subscribers: func(context.Context) (Subscribers, error) { return manyReaders(), nil }, Statuses: []any{fakeStatus{}}, Explanations: []any{fakeExplanation{}}}), got
}

// TestDescription walks the description of the API and calls every endpoint with the parameters that it requires. The
// answers match their schemas. The API refuses a call without a required parameter.
func TestDescription(t *testing.T) {
	h, got := steeredHandler()
	_, body := get(t, h, "/api/v1/openapi.json")
	var d struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Parameters []struct {
				Name     string
				Required bool
				Schema   map[string]any
			}
			RequestBody struct {
				Content map[string]struct{ Schema map[string]any }
			}
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil || !strings.HasPrefix(d.OpenAPI, "3.1") || len(d.Paths) != 19 {
		t.Fatalf("%v: OpenAPI %q, %d paths: want 3.1, 19", err, d.OpenAPI, len(d.Paths))
	}
	c := checker{d.Components.Schemas}
	for path, methods := range d.Paths {
		for method, operation := range methods {
			var query []string
			for _, p := range operation.Parameters {
				query = append(query, p.Name+"="+fmt.Sprint(sample(p.Schema)))
			}
			var order string
			if content, ok := operation.RequestBody.Content["application/json"]; ok {
				text, err := json.Marshal(c.sample(content.Schema))
				if err != nil {
					t.Fatal(err)
				}
				order = string(text)
			}
			r := httptest.NewRequest(strings.ToUpper(method), path+"?"+strings.Join(query, "&"), strings.NewReader(order))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			kind := w.Result().Header.Get("Content-Type")
			content, ok := operation.Responses["200"].Content[kind]
			if w.Code != http.StatusOK || !ok {
				t.Errorf("%s %s: %d %s is not described\n%s", method, path, w.Code, kind, w.Body)
				continue
			}
			if kind == typeBytes {
				continue
			}
			lines := bufio.NewScanner(w.Body)
			for n := 0; lines.Scan(); n++ {
				var v any
				if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
					t.Errorf("%s %s: %v", method, path, err)
				} else if err := c.check(content.Schema, v); err != nil {
					t.Errorf("%s %s: %v in %s", method, path, err, lines.Bytes())
				}
			}
		}
	}
	if len(*got) != 10 {
		t.Errorf("%d orders came through: want all 10", len(*got))
	}
}

// sample makes a value of a simple schema.
func sample(schema map[string]any) any {
	if values, ok := schema["enum"].([]any); ok {
		return values[0]
	}
	switch {
	case schema["format"] == "date-time":
		return "2126-01-31T12:00:00Z"
	case strings.Contains(fmt.Sprint(schema["type"]), "integer"), strings.Contains(fmt.Sprint(schema["type"]), "number"):
		return 2
	case schema["type"] == "boolean":
		return true
	}
	return "http://a.test/"
}

// checker holds values to schemas, as far as this description uses them.
type checker struct{ schemas map[string]any }

func (c checker) resolve(schema map[string]any) map[string]any {
	if name, ok := schema["$ref"].(string); ok {
		return c.schemas[strings.TrimPrefix(name, "#/components/schemas/")].(map[string]any)
	}
	return schema
}

// sample makes an order of a schema, with all its fields.
func (c checker) sample(schema map[string]any) any {
	schema = c.resolve(schema)
	if several, ok := schema["oneOf"].([]any); ok {
		return c.sample(several[0].(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		return []any{c.sample(items)}
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return sample(schema)
	}
	object := map[string]any{}
	for name, property := range properties {
		object[name] = c.sample(property.(map[string]any))
	}
	return object
}

func (c checker) check(schema map[string]any, v any) error {
	schema = c.resolve(schema)
	for _, word := range []string{"oneOf", "anyOf"} {
		several, ok := schema[word].([]any)
		if ok && !slices.ContainsFunc(several, func(one any) bool { return c.check(one.(map[string]any), v) == nil }) {
			return fmt.Errorf("%v is none of %v", v, several)
		}
		if ok {
			return nil
		}
	}
	if kind := kindOf(v); !allows(schema["type"], kind) {
		return fmt.Errorf("%v is a %s: want %v", v, kind, schema["type"])
	}
	if text, ok := v.(string); ok && schema["format"] == "date-time" {
		_, err := time.Parse(time.RFC3339, text)
		return err
	}
	if list, ok := v.([]any); ok {
		for _, one := range list {
			if err := c.check(schema["items"].(map[string]any), one); err != nil {
				return err
			}
		}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, there := object[name.(string)]; !there {
			return fmt.Errorf("no %v", name)
		}
	}
	for name, value := range object {
		of, known := properties[name].(map[string]any)
		if !known {
			if of, known = schema["additionalProperties"].(map[string]any); !known {
				return fmt.Errorf("%s is not described", name)
			}
		}
		if err := c.check(of, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

func allows(types any, kind string) bool {
	switch types := types.(type) {
	case string:
		return types == kind || types == "number" && kind == "integer"
	case []any:
		return slices.ContainsFunc(types, func(one any) bool { return allows(one, kind) })
	}
	return false
}

// TestAccess holds the callers that may ask. No page of another site can act or look in.
func TestAccess(t *testing.T) {
	for _, tt := range []struct {
		name   string
		access Access
		method string
		host   string
		header http.Header
		code   int
	}{
		{"by name", Access{}, "GET", "localhost:8350", nil, 200},
		{"by address", Access{}, "GET", "127.0.0.1:8350", nil, 200},
		{"by IPv6 address", Access{}, "GET", "[::1]:8350", nil, 200},
		{"by a name that leads here", Access{}, "GET", "evil.test:8350", nil, 403},
		{"by another address", Access{}, "GET", "192.0.2.1", nil, 403},
		{"no token", Access{Token: "swordfish"}, "GET", "localhost", nil, 401},
		{"a wrong token", Access{Token: "swordfish"}, "GET", "localhost", http.Header{"Authorization": {"Bearer sword"}}, 401},
		{"another scheme", Access{Token: "swordfish"}, "GET", "localhost", http.Header{"Authorization": {"Basic swordfish"}}, 401},
		{"the token as a cookie", Access{Token: "swordfish"}, "GET", "localhost", http.Header{"Cookie": {"token=swordfish"}}, 401},
		{"the token", Access{Token: "swordfish"}, "GET", "any.test", http.Header{"Authorization": {"bearer swordfish"}}, 200},
		{"an order", Access{}, "POST", "localhost", http.Header{"Content-Type": {"application/json; charset=utf-8"}}, 200},
		{"an order from our page", Access{}, "POST", "localhost:1", http.Header{"Content-Type": {"application/json"}, "Origin": {"http://localhost:1"}, "Sec-Fetch-Site": {"same-origin"}}, 200},
		{"an order as a form", Access{}, "POST", "localhost", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415},
		{"an order as text", Access{}, "POST", "localhost", http.Header{"Content-Type": {"text/plain"}}, 415},
		{"an order of no type", Access{}, "POST", "localhost", nil, 415},
		{"an order from another site", Access{}, "POST", "localhost", http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"cross-site"}}, 403},
		{"an order from another port", Access{}, "POST", "localhost:1", http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"same-site"}}, 403},
		{"an order of another origin", Access{}, "POST", "localhost", http.Header{"Content-Type": {"application/json"}, "Origin": {"http://evil.test"}}, 403},
		{"an order of no origin", Access{}, "POST", "localhost", http.Header{"Content-Type": {"application/json"}, "Origin": {"null"}}, 403},
		{"another method", Access{}, "PUT", "localhost", nil, 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "/api/v1/pause", strings.NewReader("{}"))
			r.Host = tt.host
			maps.Copy(r.Header, tt.header)
			w := httptest.NewRecorder()
			tt.access.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
			if w.Code != tt.code {
				t.Errorf("%d %s: want %d", w.Code, w.Body, tt.code)
			}
		})
	}
}

// TestOrders holds the form of an order: one JSON object of bounded size, without other fields.
func TestOrders(t *testing.T) {
	h, got := steeredHandler()
	for body, code := range map[string]int{
		`{"site":"http://a.test"}`:  200,
		`{}`:                        200,
		``:                          400,
		`{"sight":"http://a.test"}`: 400,
		`{} {}`:                     400,
		`[]`:                        400,
		`{"site":1}`:                400,
		`{"site":"` + strings.Repeat("x", maxOrder) + `"}`: 400,
	} {
		*got = nil
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/v1/pause", strings.NewReader(body)))
		if w.Code != code || (code == 200) != (len(*got) == 1) {
			t.Errorf("%.40s: %d, %d orders: want %d", body, w.Code, len(*got), code)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/api/v1/purge", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

// FuzzAPI holds that no request panics or gets a 500. No request acts unless it has passed the guard.
func FuzzAPI(f *testing.F) {
	for _, path := range []string{"status", "pages", "history", "content", "explain", "skipped", "openapi.json", "add", "pause", "resume", "pace", "recrawl", "block", "unblock", "purge", "reload", "ping"} {
		f.Add("GET", path, "url=http://a.test/&version=1&at=2026-01-31T12:00:00Z", "", "")
		f.Add("POST", path, "", `{"urls":["http://a.test/"],"site":"http://a.test","host":"a.test","until":"2126-01-01T00:00:00Z"}`, "http://localhost")
		f.Add("POST", path, "", `{"site":"http://a.test"}`, "http://evil.test")
	}
	h, got := steeredHandler()
	guarded := Access{}.Guard(h)
	f.Fuzz(func(t *testing.T, method, path, query, body, origin string) {
		r, err := http.NewRequest(method, "http://localhost/api/v1/x", strings.NewReader(body))
		if err != nil {
			return
		}
		r.URL.Path, r.URL.RawQuery, r.Host = "/api/v1/"+path, query, "localhost"
		r.Header.Set("Content-Type", "application/json")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		*got = nil
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%s %q %q %q: %d %s", method, path, query, body, w.Code, w.Body)
		}
		if len(*got) > 0 && (method != http.MethodPost || origin != "" && !strings.EqualFold(strings.TrimRight(origin, "/?#"), "http://localhost") && !strings.Contains(origin, "//localhost")) {
			t.Fatalf("%s from %q acts: %v", method, origin, *got)
		}
	})
}
