package frontier

import (
	"testing"
	"time"

	"freshet/weburl"
)

func TestRetries(t *testing.T) {
	for _, test := range []struct {
		retries  Retries
		page     weburl.Fingerprint
		failures int
		want     time.Duration
		ok       bool
	}{
		{Retries{0, time.Minute, false}, 0, 0, 0, false},
		{Retries{2, time.Minute, false}, 0, 0, time.Minute, true},
		{Retries{2, time.Minute, false}, 0, 1, 2 * time.Minute, true},
		{Retries{2, time.Minute, false}, 0, 2, 0, false},
		{Retries{2, time.Minute, false}, 512, 0, 67500 * time.Millisecond, true},
		{Retries{100, time.Minute, false}, 0, 50, 24 * time.Hour, true},
		{Retries{2, time.Minute, true}, 0, 1, 2 * time.Minute, true},
		{Retries{2, time.Minute, true}, 0, 2, 24 * time.Hour, true},
		{Retries{2, time.Minute, true}, 512, 3, 54 * time.Hour, true},
		{Retries{0, time.Minute, true}, 0, 1 << 16, 32 * 24 * time.Hour, true},
	} {
		wait, ok := test.retries.Wait(test.page, test.failures)
		if wait != test.want || ok != test.ok {
			t.Errorf("%+v after %d failures of page %d: %v, %v; want %v, %v",
				test.retries, test.failures, test.page, wait, ok, test.want, test.ok)
		}
	}
}
