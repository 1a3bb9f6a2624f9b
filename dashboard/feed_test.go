package dashboard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// manyReaders are readers of each kind, and many that have everything.
func manyReaders() Subscribers {
	none, some, many, taken, fresh := 0, 3, 256, int64(1234), 0.955
	since := time.Date(2026, 2, 27, 10, 0, 0, 0, time.UTC)
	all := []Subscriber{
		{Kind: "sink", Name: "file:///texts", Changes: &none, Taken: &taken},
		{Kind: "webhook", Name: "1, hook.test", Changes: &many, AtLeast: true, LagS: 7200, Taken: &taken, Failures: 4},
		{Kind: "changes", Name: "192.0.2.1:4000", Since: &since, Wants: []string{"http://a.test"}, Changes: &some, LagS: 90, Taken: &taken},
		{Kind: "subscriber", Name: "192.0.2.2:4000", Since: &since, Wants: []string{"http://<b>.test/*"}, More: 2, Chunks: &some, LagS: 600, Freshness: &fresh, Slow: true},
		{Kind: "downloader", Name: "192.0.2.3:4000", Since: &since, Chunks: &some, LagS: 60},
	}
	for i := range 2 * SubscribersListed {
		all = append(all, Subscriber{Kind: "subscriber", Name: fmt.Sprintf("192.0.2.4:%d", i), Since: &since, Chunks: &none})
	}
	return Subscribers{Open: 4000, Subscribers: all}
}

// TestFeedPane lists the readers of each kind, those furthest behind first, and says what the scheduler waits for.
func TestFeedPane(t *testing.T) {
	status := map[string]any{"scheduler": "lifetime", "objective": "freshness", "scheduler_waits": "rate", "rate_bytes_per_s": 1e6, "chunks": 77, "chunk_mean_bytes": 2500}
	h := Handler(Options{Reader: twice{}, Feed: func() (any, bool) { return status, true },
		Subscribers: func(context.Context) (Subscribers, error) { return manyReaders(), nil }})
	_, body := get(t, h, "/feed")
	body = strings.ReplaceAll(body, "<wbr>", "")
	rest := body
	for _, text := range []string{
		"The scheduler lifetime sends first what makes", "It waits for the limit of 1.0 MB/s",
		"1, hook.test", "webhook", "failing, 4 attempts", "more than 256 changes", "2h", "1,234", "everything",
		"192.0.2.2:4000", "subscriber of pages", "too slow", "3 chunks", "10m", "95.5 %", "2026-02-27 10:00:00", "http://&lt;b&gt;.test/*, and 2 more",
		"192.0.2.1:4000", "stream of changes", "receiving", "3 changes", "1m30s", "http://a.test", "192.0.2.3:4000", "downloader of pages",
		"file:///texts", "up to date", "nothing", "There are 4,000 readers. These are the furthest behind.", "Mean size of a chunk", "2.5 kB",
	} {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("no %q, or not in this order, in\n%s", text, body)
		}
		rest = after
	}
	if n := strings.Count(body, "<tr>"); n != SubscribersListed+1 {
		t.Errorf("%d rows", n)
	}
	for waits, want := range map[string]string{"": "is sending", "changes": "every client has everything", "clients": "too slowly", "storage": "object store"} {
		status["scheduler_waits"] = waits
		if _, body := get(t, h, "/feed"); !strings.Contains(body, want) {
			t.Errorf("waits for %q: no %q", waits, want)
		}
	}
	if _, body := get(t, Handler(Options{Reader: twice{}, Feed: func() (any, bool) { return nil, false },
		Subscribers: func(context.Context) (Subscribers, error) { return Subscribers{}, nil }}), "/feed"); !strings.Contains(body, "Nobody has subscribed yet") {
		t.Error(body)
	}
}

// TestSubscribersAreLists holds that JSON has a list where a reader wants everything, or where there is no reader.
func TestSubscribersAreLists(t *testing.T) {
	for want, all := range map[string]Subscribers{`"wants":[]`: manyReaders(), `"subscribers":[]`: {}} {
		h := Handler(Options{Reader: twice{}, Subscribers: func(context.Context) (Subscribers, error) { return all, nil }})
		_, body := get(t, h, "/api/v1/subscribers")
		if !strings.Contains(body, want) || strings.Contains(body, `"wants":null`) {
			t.Errorf("no %s, or a null, in\n%.500s", want, body)
		}
	}
}
