package units

import (
	"testing"
	"time"
)

func TestHumanUnits(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(-1234567): "-1,234,567",
		Plural(1, "page"): "1 page", Plural(0, "page"): "0 pages", Plural(2000, "query"): "2,000 queries", Plural(2, "fetch"): "2 fetches",
		Bytes(999): "999 B", Bytes(1000): "1.0 kB", Bytes(9949): "9.9 kB", Bytes(9951): "10 kB", Bytes(999_499): "999 kB",
		Bytes(999_500): "1.0 MB", Bytes(1 << 62): "4.6 EB",
		Span(0): "0s", Span(50 * time.Millisecond): "50ms", Span(1): "0.1ms", Span(95 * time.Millisecond): "0.1s", Span(300 * time.Millisecond): "0.3s", Span(9970 * time.Millisecond): "10s", Span(59700 * time.Millisecond): "1m",
		Span(90 * time.Second): "1m30s", Span(59*time.Minute + 59900*time.Millisecond): "1h", Span(100 * time.Minute): "1h40m",
		Span(24 * time.Hour): "24h", Span(60 * time.Hour): "2d12h", Span(71*time.Hour + 50*time.Minute): "3d",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
