package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

// The API is a list of endpoints. The handlers and the description are made from the same list.

// endpoint is one method of one path.
type endpoint struct {
	method, path string
	summary      string
	parameters   []parameter // of the query
	order        any         // zero value of the JSON that is sent; nil: none
	kind         string      // content type of an answer 200
	answer       any         // zero value of the JSON of an answer, or of a line of it; nil: bytes
	serve        http.HandlerFunc
}

// CrawlParameter is a parameter of every endpoint, and of no description: on the control socket it names the crawl.
const CrawlParameter = "crawl"

// checked refuses a query without a required parameter, or with one that the endpoint does not have or that has several
// values, so that no answer is to another question than was asked.
func (e endpoint) checked(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		at := slices.IndexFunc(e.parameters, func(p parameter) bool { return p.name == name })
		if fault := e.fault(at, query[name]); fault != "" && name != CrawlParameter && err == nil {
			err = fmt.Errorf("parameter %.50q: %s", name, fault)
		}
	}
	for _, p := range e.parameters {
		if p.required && !query.Has(p.name) && err == nil {
			err = fmt.Errorf("parameter %q: %s needs it: %s", p.name, e.path, p.help)
		}
	}
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return
	}
	e.serve(w, r)
}

// fault says what is wrong with the values of a parameter; at is its index, or -1.
func (e endpoint) fault(at int, values []string) string {
	switch {
	case at < 0 && len(e.parameters) == 0:
		return e.path + " has none"
	case at < 0:
		var names []string
		for _, p := range e.parameters {
			names = append(names, p.name)
		}
		return fmt.Sprintf("%s has only %s", e.path, strings.Join(names, ", "))
	case len(values) > 1:
		return "want one value"
	}
	allowed := strings.Split(e.parameters[at].kind, "|")
	if len(allowed) > 1 && values[0] != "" && !slices.Contains(allowed, values[0]) {
		return fmt.Sprintf("%.50q: want one of %s", values[0], strings.Join(allowed, ", "))
	}
	return ""
}

// parameter is one of a query.
type parameter struct {
	name, kind, help string // kind: string, integer, date-time, or the allowed values with bars between
	required         bool
}

const (
	typeJSON  = "application/json"
	typeLines = "application/x-ndjson"
	typeBytes = "application/octet-stream"
)

// describe returns the OpenAPI description of endpoints.
func describe(endpoints []endpoint, version string) map[string]any {
	schemas := map[string]any{"Fault": map[string]any{
		"type": "object", "required": []string{"error"}, "properties": map[string]any{"error": map[string]any{"type": "string"}},
	}}
	paths := map[string]map[string]any{}
	for _, e := range endpoints {
		if paths[e.path] == nil {
			paths[e.path] = map[string]any{}
		}
		paths[e.path][strings.ToLower(e.method)] = e.describe(schemas)
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "Freshet", "version": version,
			"description": "Looks into a crawl and steers it. Times are RFC 3339, keys say their unit."},
		"paths": paths,
		"components": map[string]any{"schemas": schemas,
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}}},
		"security": []any{map[string]any{}, map[string]any{"token": []string{}}},
	}
}

func (e endpoint) describe(schemas map[string]any) map[string]any {
	schema := map[string]any{"type": "string", "format": "binary"}
	if e.answer != nil {
		schema = schemaOfAny(e.answer, schemas)
	}
	operation := map[string]any{
		"summary":     e.summary,
		"operationId": strings.TrimPrefix(strings.TrimPrefix(e.path, "/api/v1/"), "/"),
		"responses": map[string]any{
			"200":     map[string]any{"description": "done", "content": map[string]any{e.kind: map[string]any{"schema": schema}}},
			"default": map[string]any{"description": "a fault", "content": map[string]any{typeJSON: map[string]any{"schema": reference("Fault")}}},
		},
	}
	if e.order != nil {
		operation["requestBody"] = map[string]any{"required": true,
			"content": map[string]any{typeJSON: map[string]any{"schema": schemaOf(reflect.TypeOf(e.order), schemas)}}}
	}
	parameters := []any{}
	for _, p := range e.parameters {
		kind := map[string]any{"type": p.kind}
		switch values := strings.Split(p.kind, "|"); {
		case p.kind == "date-time":
			kind = map[string]any{"type": "string", "format": p.kind}
		case len(values) > 1:
			kind = map[string]any{"type": "string", "enum": values}
		}
		parameters = append(parameters, map[string]any{"name": p.name, "in": "query", "required": p.required, "description": p.help, "schema": kind})
	}
	operation["parameters"] = parameters
	return operation
}

func reference(name string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// schemaOf returns the schema of the JSON of a type, and adds those of named structs to schemas. A pointer may be
// null.
func schemaOf(t reflect.Type, schemas map[string]any) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return map[string]any{"oneOf": []any{schemaOf(t.Elem(), schemas), map[string]any{"type": "null"}}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Int32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem(), schemas)}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t.Elem(), schemas)}
	case reflect.Struct:
		if _, known := schemas[t.Name()]; !known {
			schemas[t.Name()] = nil // a type may contain itself
			properties, required := map[string]any{}, []string{}
			structSchema(t, properties, &required, schemas)
			schemas[t.Name()] = map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
		}
		return reference(t.Name())
	}
	return map[string]any{"type": "string"}
}

// structSchema adds a struct's fields, those of embedded structs among them.
func structSchema(t reflect.Type, properties map[string]any, required *[]string, schemas map[string]any) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			structSchema(field.Type, properties, required, schemas)
		case !field.IsExported() || name == "-":
		default:
			properties[name] = schemaOf(field.Type, schemas)
			if options == "" {
				*required = append(*required, name)
			}
		}
	}
}

// anyOf is an answer that is one of several.
type anyOf []any

// schemaOfAny returns the schema of an answer that may be of several types.
func schemaOfAny(answer any, schemas map[string]any) map[string]any {
	several, ok := answer.(anyOf)
	if !ok {
		return schemaOf(reflect.TypeOf(answer), schemas)
	}
	all := []any{}
	for _, one := range several {
		all = append(all, schemaOf(reflect.TypeOf(one), schemas))
	}
	return map[string]any{"anyOf": all}
}
