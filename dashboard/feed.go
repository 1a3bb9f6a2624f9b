package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"

	"freshet/dashboard/units"
)

// feedNow is what the panes show of the feed. They read it like a client of /feed/status.
type feedNow struct {
	Subscribers   int     `json:"subscribers"`
	Downloaders   int     `json:"downloaders"`
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
}

// feed shows how fresh the subscribers are.
func (s *server) feed(r *http.Request) (any, error) {
	shown := struct {
		Running bool
		Host    string // of this server, as the browser sees it
		Facts   []Row
	}{Host: r.Host}
	if s.feedStatus == nil {
		return shown, nil
	}
	status, ok := s.feedStatus()
	if !ok {
		shown.Running = true
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
	shown.Running = true
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
		{"Chunks sent", units.Count(f.ChunksSent)},
		{"Sent", units.Bytes(f.SentBytes)},
		{"Sent again", units.Bytes(f.RepairedBytes)},
		{"Too slow, passed over", units.Count(f.PassedOver)},
	}
	return shown, nil
}
