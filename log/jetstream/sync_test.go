package jetstream

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestCheckSync holds that a server that acknowledges before it syncs is refused, and that a refusal says what to do.
func TestCheckSync(t *testing.T) {
	monitored := func(o server.Options) string {
		o.Host, o.Port, o.HTTPHost, o.HTTPPort, o.NoLog, o.NoSigs, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, "127.0.0.1", -1, true, true, t.TempDir()
		s, err := server.NewServer(&o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		if !s.ReadyForConnections(10 * time.Second) {
			t.Fatal("the server does not start")
		}
		return "http://" + s.MonitorAddr().String()
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if err := CheckSync(t.Context(), monitored(server.Options{JetStream: true, SyncAlways: true})+"/"); err != nil {
		t.Error(err)
	}
	if err := CheckSync(t.Context(), monitored(server.Options{JetStream: true})); !errors.Is(err, ErrNotSynced) {
		t.Errorf("a server that syncs later: %v", err)
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
