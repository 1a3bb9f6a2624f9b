package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"freshet/clock"
)

// stream is a subject of NATS JetStream.
type stream struct {
	prefix string
	source string // of its events
	conn   *nats.Conn
	js     jetstream.JetStream
	clock  *clock.Clock
	made   bool // a stream has the subjects
}

// streamBytes is the size of a stream that make makes. Older messages are removed.
const streamBytes = 1 << 30

// NewStream returns subjects of NATS JetStream as a target. A subject has the kind of the change and the page's host:
// PREFIX.changed.org.example.www. Each message is a CloudEvent 1.0 in JSON. Its source names the crawl and the
// origin, so a stream may have the changes of several crawls. Its id is also the message's id (Nats-Msg-Id), so the
// stream ignores a message that comes twice within its window. If no stream has the subjects, Put makes one of at
// most 1 GiB. The target closes the connection.
func NewStream(conn *nats.Conn, prefix, crawl, origin string, c *clock.Clock) (Target, error) {
	if prefix == "" || strings.ContainsAny(prefix, "*> \t\r\n") || strings.HasPrefix(prefix, ".") || strings.HasSuffix(prefix, ".") || strings.Contains(prefix, "..") {
		return nil, fmt.Errorf("sink: subject %q: want words with full stops between them", prefix)
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncTimeout(answerTime))
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &stream{prefix: prefix, source: "/freshet/" + url.PathEscape(crawl) + "/" + origin, conn: conn, js: js, clock: c}, nil
}

func (s *stream) Close() error {
	s.conn.Close()
	return nil
}

// make makes a stream unless one has the subjects.
func (s *stream) make(ctx context.Context) error {
	if s.made {
		return nil
	}
	_, err := s.js.StreamNameBySubject(ctx, s.prefix+".changed.any")
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: strings.ReplaceAll(s.prefix, ".", "-"), Subjects: []string{s.prefix + ".>"}, Storage: jetstream.FileStorage, MaxBytes: streamBytes,
		})
	}
	s.made = err == nil
	return err
}

// Put implements Target.
func (s *stream) Put(ctx context.Context, documents []Document) (refusals []Refusal, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	defer func() { s.made = err == nil }() // the stream may be gone
	if err := s.make(ctx); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	type sending struct {
		document Document
		ack      jetstream.PubAckFuture
	}
	var sent []sending
	for _, d := range documents {
		id, event, err := eventOf(s.source, d)
		if err != nil {
			return nil, err
		}
		if int64(len(event)) > s.conn.MaxPayload() {
			refusals = append(refusals, Refusal{d, fmt.Sprintf("%d bytes: the server's max_payload is %d", len(event), s.conn.MaxPayload())})
			continue
		}
		ack, err := s.publish(subjectOf(d), id, event)
		if errors.Is(err, nats.ErrMaxPayload) { // with its headers
			refusals = append(refusals, Refusal{d, fmt.Sprintf("%d bytes and headers: the server's max_payload is %d", len(event), s.conn.MaxPayload())})
			continue
		}
		if err != nil {
			return nil, err
		}
		sent = append(sent, sending{d, ack})
	}
	for _, one := range sent {
		select {
		case <-one.ack.Ok():
		case err := <-one.ack.Err():
			if tooLong(err) {
				refusals = append(refusals, Refusal{one.document, err.Error()})
				continue
			}
			return nil, fmt.Errorf("sink: %w", err)
		case <-ctx.Done():
			return nil, fmt.Errorf("sink: no acknowledgement: %w", ctx.Err())
		}
	}
	return refusals, nil
}

// tooLong reports whether a stream refuses a message for its length, by its own max_msg_size.
func tooLong(err error) bool {
	const exceedsMaximum = 10054 // of the errors that NATS documents
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == exceedsMaximum
}

// subjectOf returns the subject of a document, below the prefix: its kind and the labels of its host, the last one
// first. So the subjects of a domain begin alike.
func subjectOf(d Document) string {
	u, err := url.Parse(d.URL)
	if err != nil || u.Hostname() == "" {
		return d.Kind
	}
	labels := strings.FieldsFunc(u.Hostname(), func(r rune) bool { return strings.ContainsRune(".*> \t", r) })
	slices.Reverse(labels)
	return strings.Join(append([]string{d.Kind}, labels...), ".")
}

func (s *stream) publish(subject, id string, event []byte) (jetstream.PubAckFuture, error) {
	message := nats.NewMsg(s.prefix + "." + subject)
	message.Data = event
	message.Header.Set("Content-Type", "application/cloudevents+json")
	ack, err := s.js.PublishMsgAsync(message, jetstream.WithMsgID(id))
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return ack, nil
}

// Clear sends an event of kind resynchronise.
func (s *stream) Clear(ctx context.Context) (err error) {
	defer func() { s.made = err == nil }()
	if err := s.make(ctx); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	now := s.clock.Now().UTC()
	id := fmt.Sprintf("%s-%s-%d", path.Base(s.source), kindResynchronise, now.UnixNano())
	event, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: id, Source: s.source, Type: "freshet." + kindResynchronise, Time: now,
		ContentType: "application/json", Data: change{Kind: kindResynchronise, Document: Document{Time: now}},
	})
	if err != nil {
		return err
	}
	ack, err := s.publish(kindResynchronise, id, event)
	if err != nil {
		return err
	}
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return fmt.Errorf("sink: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}
