package jetstream

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"freshet/internal/broker"
)

// TestCheckSync holds that CheckSync refuses a server that acknowledges before it syncs. The refusal says what to do.
func TestCheckSync(t *testing.T) {
	monitored := func(o server.Options) string {
		o.HTTPHost, o.HTTPPort = "127.0.0.1", -1
		return "http://" + broker.Start(t, o).MonitorAddr().String()
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if err := CheckSync(t.Context(), monitored(server.Options{JetStream: true, SyncAlways: true})+"/"); err != nil {
		t.Error(err)
	}
	if err := CheckSync(t.Context(), monitored(server.Options{JetStream: true})); !errors.Is(err, ErrNotSynced) {
		t.Errorf("a server that syncs later: %v", err)
	}
	if err := CheckSync(t.Context(), "http://127.0.0.1:1"); !errors.Is(err, ErrSilent) {
		t.Errorf("a server that is down: %v", err)
	}
	for says, at := range map[string]string{
		"give it a jetstream section": monitored(server.Options{}),
		"not as the monitoring":       other.URL,
		"http_port":                   "http://127.0.0.1:1",
	} {
		if err := CheckSync(t.Context(), at); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", at, err, says)
		}
	}
}
