package dashboard

import (
	"encoding/json"
	"fmt"
)

// now is what the panes show of a status. They read it by its keys, like any client of the API. State is "stopped"
// if no crawl runs.
type now struct {
	State         string  `json:"state"`
	DurationS     float64 `json:"duration_s"` // of the run, by the crawl's clock
	Pages         int64   `json:"pages"`      // stored by this run, requisites apart
	Requisites    int64   `json:"requisites"` // stored by this run
	NotModified   int64   `json:"not_modified"`
	Failed        int64   `json:"urls_failed"`
	Known         int64   `json:"urls_discovered"`
	Sites         int64   `json:"sites"`
	Bytes         int64   `json:"bytes"`
	RecentPagesS  float64 `json:"recent_pages_per_s"`
	RecentBytesS  float64 `json:"recent_bytes_per_s"`
	Connections   int     `json:"connections_active"`
	SitesReady    int     `json:"sites_ready"`
	SitesWaiting  int     `json:"sites_waiting"`
	QueuedNew     int64   `json:"queued_new"`
	QueuedDue     int64   `json:"queued_due"`
	RobotsWaiting int64   `json:"robots_unreachable_pages"`
	RemainingS    float64 `json:"remaining_s"`
	LatestS       float64 `json:"remaining_latest_s"`
	DiskFree      int64   `json:"disk_free_bytes"`
	DiskNeeded    int64   `json:"disk_needed_bytes"`
	DiskFullS     float64 `json:"disk_full_in_s"`

	Errors     map[string]int64 `json:"errors"`
	Refused    map[string]int64 `json:"refused"`
	Background map[string]int64 `json:"background_failures"`
	States     map[string]int64 `json:"pages_by_state"`
	Versions   int64            `json:"versions"`
	BodyBytes  int64            `json:"body_bytes"`
	CleanStop  bool             `json:"clean_stop"`

	Memory struct {
		Budget int64 `json:"budget_bytes"`
		Used   int64 `json:"used_bytes"`
	} `json:"memory"`
	Trouble *struct {
		Cause  string `json:"cause"`
		Remedy string `json:"remedy"`
	} `json:"trouble"`
	Fleet         fleetNow  `json:"fleet"`
	Refresh       *freshNow `json:"refresh"`
	Embarrassment *struct {
		Expected float64 `json:"expected_per_day"`
		Uniform  float64 `json:"uniform_per_day"`
		Double   float64 `json:"double_budget_per_day"`
	} `json:"embarrassment"`
}

// freshNow is the believed freshness of the copy.
type freshNow struct {
	Pages           int64                `json:"pages"`
	Freshness       float64              `json:"freshness"`
	Low             float64              `json:"freshness_low"`
	High            float64              `json:"freshness_high"`
	Weighted        float64              `json:"weighted"`
	MeanAgeS        float64              `json:"mean_age_s"`
	Policy          string               `json:"policy"`
	Budget          int64                `json:"budget"`
	IntervalS       float64              `json:"interval_s"`
	Requests        int64                `json:"requests_in_interval"`
	Last            int64                `json:"requests_last_interval"`
	Spent           spending             `json:"spent_in_interval"`
	SpentLast       spending             `json:"spent_last_interval"`
	Planned         int                  `json:"visits_planned"`
	Waiting         int                  `json:"visits_waiting"`
	ExpectedChanged float64              `json:"visits_expected_changed"`
	FoundChanged    float64              `json:"visits_found_changed"`
	Forecast        []bought             `json:"forecast"`
	Sites           map[string]siteFresh `json:"sites"`
}

// unspent reports whether much of the last interval's budget was left because the crawl had to wait for sites.
func (f *freshNow) unspent() bool {
	return f.Last > 0 && f.Last < f.Budget/2 && int64(f.Waiting) > f.Budget/10
}

// bought is the forecast for a budget.
type bought struct {
	Budget    int64   `json:"budget"`
	Freshness float64 `json:"freshness"`
	Uniform   float64 `json:"uniform"`
}

type siteFresh struct {
	Pages     int64   `json:"pages"`
	Freshness float64 `json:"freshness"`
	MeanAgeS  float64 `json:"mean_age_s"`
}

// spending is what requests were made for.
type spending struct {
	FirstCopies int64            `json:"first_copies"`
	StoredPages int64            `json:"stored_pages"`
	Lists       int64            `json:"sitemaps_and_feeds"`
	Requisites  int64            `json:"requisites"`
	Retries     int64            `json:"retries"`
	Sites       map[string]int64 `json:"sites"`
}

func (s spending) sum() int64 {
	return s.FirstCopies + s.StoredPages + s.Lists + s.Requisites + s.Retries
}

// fleetNow is the state of the fetchers.
type fleetNow struct {
	Rule           string  `json:"rule"`
	Allowed        int     `json:"allowed"`
	Active         int     `json:"active"`
	Waiting        int     `json:"waiting"`
	Queue          int     `json:"queue_pages"`
	Places         int     `json:"queue_places"`
	Arrival        float64 `json:"arrival_rate_pages_per_s"`
	Service        float64 `json:"service_rate_pages_per_s"`
	Variation      float64 `json:"service_variation"`
	Gamma          float64 `json:"gamma_pages_per_s"`
	Starved        float64 `json:"starvation"`
	Loss           float64 `json:"loss_pages_per_s"`
	Cost           float64 `json:"cost_pages_per_s"`
	ModelFixed     int     `json:"model_fixed_fetchers"`
	ModelFixedCost float64 `json:"model_fixed_cost_pages_per_s"`
	ModelCost      float64 `json:"model_switched_cost_pages_per_s"`
	Changes        int64   `json:"changes"`
	Curve          *struct {
		Departure []int `json:"departure"`
		Arrival   []int `json:"arrival"`
	} `json:"switching_curve"`
	Consumers []struct {
		Name  string `json:"name"`
		Queue int64  `json:"queue_records"`
	} `json:"consumers"`
}

// readNow reads the status of a Reader.
func readNow(r Reader) (n now, err error) {
	status, err := r.Status()
	if err != nil {
		return n, err
	}
	text, err := json.Marshal(status)
	if err != nil {
		return n, fmt.Errorf("dashboard: status: %w", err)
	}
	return decodeNow(text)
}

// decodeNow reads a status as JSON.
func decodeNow(text []byte) (n now, err error) {
	if err := json.Unmarshal(text, &n); err != nil {
		return n, fmt.Errorf("dashboard: status: %w", err)
	}
	return n, nil
}

// running reports whether a crawl runs.
func (n now) running() bool { return n.State != "" && n.State != "stopped" }

// fetched returns how many requests of the run brought content or a 304.
func (n now) fetched() int64 { return n.Pages + n.NotModified }
