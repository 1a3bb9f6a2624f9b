// Package broker runs NATS servers for tests.
package broker

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Start starts a server on loopback with the options, on any port if they name none. It ends with the test or by
// Stop.
func Start(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoLog, o.NoSigs = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if o.JetStream && o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { Stop(s) })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

// JetStream starts a server with streams that syncs before it acknowledges.
func JetStream(t *testing.T) *server.Server {
	t.Helper()
	return Start(t, server.Options{JetStream: true, SyncAlways: true})
}

// Stop ends a server, and waits until it has ended.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}
