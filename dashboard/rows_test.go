package dashboard

import (
	"fmt"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	rows, err := Rows(strings.NewReader(`{"state":"stopped","pages":12345,"bytes_free":0,"disk_free_bytes":53000000000,"remaining_s":90,"latest_s":1e12,
		"pages_per_s":0.98676107,"memory":{"budget_bytes":2000000,"by":{"seen":0,"TLS sessions":67108864}},"disk_full_in_s":3600,"refresh":{"freshness":0.98676107,"forecast":[{"budget":500,"freshness":0.995}],"sites":{"http://site.test":{"pages":3}}},"fleet":{"rule":"","active":0},"at":"2026-01-31T12:00:00.123Z","none":null,"clean":false}`))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&got, "%s: %s\n", row.Name, row.Value)
	}
	const want = `state: stopped
pages: 12,345
disk free: 53 GB
remaining: 1m30s
latest: not known
pages per second: 0.987
memory budget: 2.0 MB
memory TLS sessions: 67 MB
disk full in: 1h
refresh forecast: budget 500, freshness 99.5 %
refresh freshness: 98.7 %
refresh sites http://site.test pages: 3
at: 2026-01-31T12:00:00Z
clean: false
`
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
}
