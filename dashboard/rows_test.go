package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	rows, err := Rows(strings.NewReader(`{"state":"stopped","pages":12345,"bytes":2500,"bytes_free":0,"disk_free_bytes":53000000000,"remaining_s":90,"remaining_latest_s":1e12,"remaining_lower_bound_s":4,
		"pages_per_s":0.00098676107,"recent_pages_per_s":12345.6,"recent_bytes_per_s":2534.7,"memory":{"budget_bytes":2000000,"by":{"seen":0,"TLS sessions":67108864}},"disk_full_in_s":3600,"refresh":{"freshness":0.98676107,"forecast":[{"budget":500,"freshness":0.995}],"sites":{"http://site.test":{"pages":3}}},"fleet":{"rule":"","active":0},"at":"2026-01-31T12:00:00.123Z","none":null,"clean":false}`))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&got, "%s: %s\n", row.Name, row.Value)
	}
	const want = `state: stopped
pages fetched in this run: 12,345
received in this run: 2.5 kB
disk free: 53 GB
stored on average: 3.55/h
stored now: 12,346/s
received now: 2.5 kB/s
memory budget: 2.0 MB
memory TLS sessions: 67 MB
disk full in: 1h
refresh freshness: 98.7 %
refresh forecast: budget 500, freshness 99.5 %
refresh sites http://site.test pages: 3
at: 2026-01-31T12:00:00Z
clean: false
`
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
}

// TestRowsOfEnd holds that a status says how long a crawl still takes, but not of one that does not end.
func TestRowsOfEnd(t *testing.T) {
	for refresh, want := range map[string][]Row{
		`null`:           {{"state", "crawling"}, {"remaining", "1m30s"}, {"remaining latest", "2m"}},
		`{"budget":200}`: {{"state", "crawling"}, {"refresh budget", "200"}},
	} {
		latest := map[bool]string{true: "120", false: "1e12"}[refresh == "null"]
		rows, err := Rows(strings.NewReader(`{"state":"crawling","remaining_s":90,"remaining_latest_s":` + latest + `,"refresh":` + refresh + `}`))
		if err != nil || !slices.Equal(rows, want) {
			t.Errorf("refresh %s: %v, %v, want %v", refresh, rows, err, want)
		}
	}
}

// TestRowsOfPace holds that a status says what sets the pace of a crawl, and nothing that reads like a fault: in a
// polite crawl, processing has nothing to do most of the time.
func TestRowsOfPace(t *testing.T) {
	rows, err := Rows(strings.NewReader(`{"state":"crawling","fleet":{"rule":"auto","allowed":256,"active":1,"queue_places":34,"service_rate_pages_per_s":900,
		"consumers":[{"name":"index","queue_records":12345}],"starvation":1,"starved_s":18.1,"gamma_pages_per_s":90000,"cost_pages_per_s":90000}}`))
	want := []Row{{"state", "crawling"}, {"fetches", "1 under way, 256 allowed"},
		{"pace", "The sites set the pace: no more of them may be asked now, and this machine is idle 100 % of the time."},
		{"not yet read by index", "12,345 records"}}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%v, %v, want %v", rows, err, want)
	}
}

// TestRowsOfPause holds that no site is said to set the pace of a paused crawl.
func TestRowsOfPause(t *testing.T) {
	rows, err := Rows(strings.NewReader(`{"state":"paused","fleet":{"allowed":256,"service_rate_pages_per_s":900,"starvation":1}}`))
	want := []Row{{"state", "paused"}, {"fetches", "0 under way, 256 allowed"}, {"pace", "The crawl is paused."}}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%v, %v, want %v", rows, err, want)
	}
}

// TestRowsOfMany holds that of many hosts the largest are shown, and of many settings all, in their order.
func TestRowsOfMany(t *testing.T) {
	var hosts, settings strings.Builder
	for i := range 20 {
		fmt.Fprintf(&hosts, `"s%02d":{"pages":%d},`, i, i+1)
		fmt.Fprintf(&settings, `"f%02d":%d,`, 20-i, i+1)
	}
	rows, err := Rows(strings.NewReader(`{"hosts":{` + strings.TrimSuffix(hosts.String(), ",") + `},"refresh":{` + settings.String() + `"policy":"default"}}`))
	if err != nil || len(rows) != 12+1+20+1 {
		t.Fatalf("%d rows, %v: %v", len(rows), err, rows)
	}
	for i, want := range map[int]Row{0: {"hosts s19 pages", "20"}, 12: {"hosts", "and 8 more, see --json"}, 13: {"refresh f20", "1"}, 33: {"refresh policy", "default"}} {
		if rows[i] != want {
			t.Errorf("row %d: %v, want %v", i, rows[i], want)
		}
	}
}
