package sink

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// change is a document in a stream of changes.
type change struct {
	Kind     string `json:"kind"`
	Position uint64 `json:"position,omitempty"` // grows with each change of the page
	Document
}

// kindResynchronise is the kind of a change that says that all pages come again.
const kindResynchronise = "resynchronise"

// cloudEvent is a change as a CloudEvent 1.0 in its JSON form.
type cloudEvent struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject,omitempty"`
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`
	Data        any       `json:"data"`
}

// eventOf returns the event of a document and its id. The id is unique for a change of a source.
func eventOf(source string, d Document) (id string, event []byte, err error) {
	page := sha256.Sum256([]byte(source + "\n" + d.URL))
	id = fmt.Sprintf("%x-%d", page[:16], d.Position)
	event, err = json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: id, Source: source, Type: "freshet.page." + d.Kind, Subject: d.URL, Time: d.Time,
		ContentType: "application/json", Data: change{d.Kind, d.Position, d},
	})
	return id, event, err
}
