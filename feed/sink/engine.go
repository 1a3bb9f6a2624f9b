package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// answerTime bounds the time of a request to a search engine, longestAnswer the bytes of an answer.
const (
	answerTime    = time.Minute
	longestAnswer = 16 << 20
)

// engine is an index of OpenSearch or Elasticsearch.
type engine struct {
	index  *url.URL // without user and password
	user   *url.Userinfo
	client *http.Client
	made   bool // the index is there
}

// NewSearchEngine returns an index of OpenSearch or Elasticsearch as a target. The URL's path is the index's name.
// Each request carries its user and password. The first Put makes the index if there is none. A document's id is the
// beginning of its URL's SHA-256, in hexadecimal. Its version is the position (version_type=external), so a document
// that comes twice or late changes nothing.
func NewSearchEngine(index *url.URL, transport http.RoundTripper) Target {
	bare := *index
	bare.User = nil
	return &engine{index: &bare, user: index.User, client: &http.Client{Transport: transport, Timeout: answerTime}}
}

func (e *engine) Close() error {
	e.client.CloseIdleConnections()
	return nil
}

// ask makes a request and returns its answer's code and body.
func (e *engine) ask(ctx context.Context, method, path, kind string, body []byte) (int, []byte, error) {
	u := *e.index
	u.Path += path
	request, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("User-Agent", "freshet")
	request.Header.Set("Content-Type", kind)
	if password, ok := e.user.Password(); ok {
		request.SetBasicAuth(e.user.Username(), password)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	return response.StatusCode, answer, err
}

// fields is the mapping of the index.
const fields = `{"mappings": {"properties": {
	"url": {"type": "keyword"}, "site": {"type": "keyword"}, "time": {"type": "date"}, "title": {"type": "text"}, "byline": {"type": "text"},
	"published": {"type": "date"}, "language": {"type": "keyword"}, "text": {"type": "text"},
	"diff": {"type": "text", "index": false}, "version": {"type": "integer"}, "digest": {"type": "keyword"},
	"licenses": {"type": "keyword"}, "signals": {"type": "keyword"}}}}`

// make makes the index if there is none.
func (e *engine) make(ctx context.Context) error {
	if e.made {
		return nil
	}
	code, _, err := e.ask(ctx, http.MethodHead, "", "application/json", nil)
	if err == nil && code == http.StatusNotFound {
		var answer []byte
		if code, answer, err = e.ask(ctx, http.MethodPut, "", "application/json", []byte(fields)); err == nil && code/100 != 2 {
			return fmt.Errorf("sink: make the index: answered %d: %.500s", code, answer)
		}
	}
	if err == nil && code/100 != 2 {
		err = fmt.Errorf("sink: look for the index: answered %d", code)
	}
	e.made = err == nil
	return err
}

// Clear deletes the index.
func (e *engine) Clear(ctx context.Context) error {
	e.made = false
	code, answer, err := e.ask(ctx, http.MethodDelete, "", "application/json", nil)
	switch {
	case err != nil:
		return err
	// other errors with this code may pass
	case code == http.StatusBadRequest && kindOf(answer) == "illegal_argument_exception":
		return &Fault{
			Cause: fmt.Sprintf("%s must be deleted, because ends of pages were missed, but it answered %d: %.500s", e.index, code, answer),
			Remedy: "if it is an alias, delete the index behind it and the alias, or give --sink the name of an index instead of an alias; " +
				"then start again",
		}
	case code/100 != 2 && code != http.StatusNotFound:
		return fmt.Errorf("sink: delete the index: answered %d: %.500s", code, answer)
	}
	return nil
}

// kindOf returns the type of the error in an answer, "" if it has none.
func kindOf(answer []byte) string {
	var said struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return ""
	}
	return said.Error.Type
}

// action is the first line of an item of a bulk request.
type action struct {
	ID      string `json:"_id"`
	Version uint64 `json:"version"`
	Type    string `json:"version_type"`
}

// Put implements Target by bulk requests.
func (e *engine) Put(ctx context.Context, documents []Document) ([]Refusal, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	if err := e.make(ctx); err != nil {
		return nil, err
	}
	var body bytes.Buffer
	lines := json.NewEncoder(&body)
	for _, d := range documents {
		id := sha256.Sum256([]byte(d.URL))
		what := "index"
		if d.Deleted {
			what = "delete"
		}
		err := lines.Encode(map[string]action{what: {hex.EncodeToString(id[:16]), d.Position, "external"}})
		if err == nil && !d.Deleted {
			err = lines.Encode(d)
		}
		if err != nil {
			return nil, err
		}
	}
	code, answer, err := e.ask(ctx, http.MethodPost, "/_bulk", "application/x-ndjson", body.Bytes())
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusRequestEntityTooLarge:
		return e.halve(ctx, documents, fmt.Sprintf("answered %d: %.500s", code, answer))
	case code/100 != 2:
		return nil, fmt.Errorf("sink: answered %d: %.500s", code, answer)
	}
	refusals, err := outcomes(documents, answer)
	e.made = err == nil // the index may be gone
	return refusals, err
}

// halve puts the halves of a refused batch, and so on, until only single documents are refused.
func (e *engine) halve(ctx context.Context, documents []Document, why string) ([]Refusal, error) {
	if len(documents) == 1 {
		return []Refusal{{documents[0], why}}, nil
	}
	first, err := e.Put(ctx, documents[:len(documents)/2])
	if err != nil {
		return nil, err
	}
	second, err := e.Put(ctx, documents[len(documents)/2:])
	return append(first, second...), err
}

// outcomes reads the answer to a bulk request.
func outcomes(documents []Document, answer []byte) (refusals []Refusal, err error) {
	var said struct {
		Items []map[string]struct {
			Status int             `json:"status"`
			Error  json.RawMessage `json:"error"`
		} `json:"items"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, fmt.Errorf("sink: the answer is not JSON: %w", err)
	}
	if len(said.Items) != len(documents) {
		return nil, fmt.Errorf("sink: %d outcomes of %d documents", len(said.Items), len(documents))
	}
	for i, item := range said.Items {
		for what, outcome := range item {
			switch code := outcome.Status; {
			case code/100 == 2, code == http.StatusConflict, what == "delete" && code == http.StatusNotFound && outcome.Error == nil:
			case code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge:
				refusals = append(refusals, Refusal{documents[i], fmt.Sprintf("answered %d: %.500s", code, outcome.Error)})
			default: // it is busy, full or locked, lacks the index, or refuses writes: that may pass
				err = errors.Join(err, fmt.Errorf("sink: %s: answered %d: %.500s", documents[i].URL, code, outcome.Error))
			}
		}
	}
	return refusals, err
}
