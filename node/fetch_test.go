package node

import (
	"net/http"
	"testing"

	"freshet/fetch"
)

// TestBacksOff holds the answers that make the crawl ask a host less often. A host without an address is one of them.
func TestBacksOff(t *testing.T) {
	for outcome, want := range map[fetch.Outcome]bool{
		fetch.DNSFailed: true, fetch.ConnectFailed: true, fetch.TimedOut: true, fetch.Disconnected: true,
		fetch.Refused: false, fetch.Canceled: false, fetch.Answered: false,
	} {
		if got := backsOff(&fetch.Result{Outcome: outcome, Status: http.StatusNotFound}); got != want {
			t.Errorf("%v: %v, want %v", outcome, got, want)
		}
	}
	for status, want := range map[int]bool{
		http.StatusTooManyRequests: true, http.StatusServiceUnavailable: true, http.StatusInternalServerError: false,
	} {
		if got := backsOff(&fetch.Result{Outcome: fetch.Answered, Status: status}); got != want {
			t.Errorf("status %d: %v, want %v", status, got, want)
		}
	}
}
