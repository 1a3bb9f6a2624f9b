package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"freshet/dashboard/units"
)

// Subscribers are the readers of the feed.
type Subscribers struct {
	Open        int          `json:"open"`        // readers, listed or not
	Subscribers []Subscriber `json:"subscribers"` // at most SubscribersListed, those furthest behind first
}

// SubscribersListed is the maximum number of readers of the feed that are listed.
const SubscribersListed = 50

// Subscriber is a reader of the feed. Readers that come and go with a cursor are not known.
type Subscriber struct {
	Kind  string     `json:"kind"`  // one of subscriberKinds
	Name  string     `json:"name"`  // address of a client; a sink or webhook without secrets
	Since *time.Time `json:"since"` // when a client connected
	// Wants are some of the sites, domains and patterns that it reads; none: everything. More counts the others.
	Wants     []string `json:"wants"`
	More      int      `json:"wants_more"`
	Changes   *int     `json:"changes_behind"`  // null: not known
	AtLeast   bool     `json:"behind_at_least"` // it lacks more changes than that
	Chunks    *int     `json:"chunks_behind"`   // chunks of pages from which it lacks some
	LagS      float64  `json:"lag_s"`           // since the oldest change that it has not taken
	Freshness *float64 `json:"freshness"`       // share of its pages that are up to date, as of some seconds ago
	Taken     *int64   `json:"taken"`           // changes or documents, in this run
	Failures  int64    `json:"failures_in_a_row"`
	Slow      bool     `json:"passed_over"` // it takes too slowly what it is sent
}

// subscriberKinds has the words for each kind.
var subscriberKinds = map[string]string{
	"subscriber": "subscriber of pages", "downloader": "downloader of pages", "changes": "stream of changes", "sink": "sink", "webhook": "webhook",
}

// Means says what kind of reader it is.
func (s Subscriber) Means() string { return cmp.Or(subscriberKinds[s.Kind], s.Kind) }

// Behind says what it lacks.
func (s Subscriber) Behind() string {
	switch {
	case s.Chunks != nil && *s.Chunks > 0:
		return units.Plural(int64(*s.Chunks), "chunk")
	case s.AtLeast:
		return "more than " + units.Plural(int64(*s.Changes), "change")
	case s.Changes != nil && *s.Changes > 0:
		return units.Plural(int64(*s.Changes), "change")
	case s.Chunks != nil || s.Changes != nil:
		return "nothing"
	}
	return ""
}

// Doing returns the state of a subscriber.
func (s Subscriber) Doing() Activity {
	switch {
	case s.Failures > 0:
		return Activity{"failing, " + units.Plural(s.Failures, "attempt"), "ill"}
	case s.Slow:
		return Activity{"too slow", "ill"}
	case s.Chunks == nil && s.Changes == nil:
		return Activity{"not begun", ""}
	case s.Behind() != "nothing":
		return Activity{"receiving", "wait"}
	}
	return Activity{"up to date", "well"}
}

// readers returns the readers of the feed, those furthest behind first.
func (s *server) readers(ctx context.Context) (all Subscribers, err error) {
	all, err = s.subscribers(ctx)
	slices.SortStableFunc(all.Subscribers, func(x, y Subscriber) int {
		return cmp.Or(cmp.Compare(y.LagS, x.LagS), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
	// JSON has an empty list as [], never as null.
	all.Subscribers = append([]Subscriber{}, all.Subscribers[:min(len(all.Subscribers), SubscribersListed)]...)
	for i := range all.Subscribers {
		one := &all.Subscribers[i]
		one.Wants = append([]string{}, one.Wants...)
	}
	return all, err
}

func (s *server) listSubscribers(w http.ResponseWriter, r *http.Request) {
	all, err := s.readers(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, all)
}

// feedNow is what the panes show of the feed. They read it like a client of /feed/status.
type feedNow struct {
	Subscribers   int     `json:"subscribers"`
	Downloaders   int     `json:"downloaders"`
	Chunks        int64   `json:"chunks"`
	ChunkBytes    float64 `json:"chunk_mean_bytes"`
	ChunksSent    int64   `json:"chunks_sent"`
	SentBytes     int64   `json:"sent_bytes"`
	RepairedBytes int64   `json:"repaired_bytes"`
	PassedOver    int64   `json:"passed_over"`
	Freshness     float64 `json:"freshness_over_clients"`
	FreshnessData float64 `json:"freshness_over_data"`
	AgeS          float64 `json:"age_over_clients_s"`
	LagP50S       float64 `json:"item_lag_p50_s"`
	LagP99S       float64 `json:"item_lag_p99_s"`
	Downloads     int     `json:"downloads_served"`
	DelayS        float64 `json:"download_delay_s"`
	Scheduler     string  `json:"scheduler"`
	Objective     string  `json:"objective"`
	Rate          float64 `json:"rate_bytes_per_s"`
	Waits         string  `json:"scheduler_waits"`
}

// schedulers say what each scheduler sends first.
var schedulers = map[string]string{
	"circular": "sends one chunk after another", "popularity": "sends first what most clients lack",
	"rq":       "sends first what many clients lack, and prefers clients that lack little",
	"rxw":      "sends first what many clients have lacked for long",
	"rxc":      "sends first what many clients lack and what changes seldom",
	"lifetime": "sends first what makes the copies of the clients fresh for longest",
}

// schedules says which scheduler decides, and what it waits for.
func (f feedNow) schedules() verdict {
	text := fmt.Sprintf("The scheduler %s %s. ", f.Scheduler, schedulers[f.Scheduler])
	if f.Scheduler == "lifetime" && f.Objective == "age" {
		text = "The scheduler lifetime sends first what keeps the copies of the clients from being out of date for long. "
	}
	switch f.Waits {
	case "changes":
		return verdict{Kind: "well", Text: text + "It waits for changes: every client has everything."}
	case "rate":
		return verdict{Kind: "wait", Text: text + fmt.Sprintf("It waits for the limit of %s/s, which --feed-rate sets.", units.Bytes(int64(f.Rate)))}
	case "clients":
		return verdict{Kind: "ill", Text: text + "It waits for clients: those that lack something take it too slowly."}
	case "storage":
		return verdict{Kind: "wait", Text: text + "It waits for chunks that are being read from the object store."}
	}
	return verdict{Kind: "well", Text: text + "It is sending."}
}

// feed shows who reads the feed, how far behind each reader is, and what the scheduler does.
func (s *server) feed(r *http.Request) (any, error) {
	shown := struct {
		Running bool
		Host    string // of this server, as the browser sees it
		Readers Subscribers
		Verdict verdict
		Facts   []Row
	}{Host: r.Host, Running: s.feedStatus != nil}
	if s.subscribers != nil {
		var err error
		if shown.Readers, err = s.readers(r.Context()); err != nil {
			return nil, err
		}
	}
	if s.feedStatus == nil {
		return shown, nil
	}
	status, ok := s.feedStatus()
	if !ok {
		return shown, nil
	}
	var f feedNow
	text, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("dashboard: feed: %w", err)
	}
	shown.Verdict = f.schedules()
	shown.Facts = []Row{
		{"Subscribers", units.Count(int64(f.Subscribers))},
		{"Downloads under way", units.Count(int64(f.Downloaders))},
		{"Downloads served", units.Count(int64(f.Downloads))},
		{"Mean time of a download", seconds(f.DelayS)},
		{"Up to date, over subscribers", percent(f.Freshness)},
		{"Up to date, over pages", percent(f.FreshnessData)},
		{"Mean age", seconds(f.AgeS)},
		{"Lag of a page, median", seconds(f.LagP50S)},
		{"Lag of a page, 99 of 100", seconds(f.LagP99S)},
		{"Chunks of pages", units.Count(f.Chunks)},
		{"Mean size of a chunk", units.Bytes(int64(f.ChunkBytes))},
		{"Chunks sent", units.Count(f.ChunksSent)},
		{"Sent", units.Bytes(f.SentBytes)},
		{"Sent again", units.Bytes(f.RepairedBytes)},
		{"Too slow, passed over", units.Count(f.PassedOver)},
	}
	return shown, nil
}
