//go:build linux

package machines

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Brokers is how many NATS servers there are: s1, s2, s3. Their numbers are those of their addresses.
const Brokers = 3

const (
	clientPort = 4222
	routePort  = 6222
	// MonitorPort is the port of the servers' monitoring.
	MonitorPort = 8222
)

// BrokerURLs returns the addresses of the servers for clients.
func BrokerURLs() string {
	var all []string
	for i := range Brokers {
		all = append(all, fmt.Sprintf("nats://%s:%d", Address(i+1), clientPort))
	}
	return strings.Join(all, ",")
}

// ServeBroker runs a NATS server that syncs every write, until a signal ends it.
func ServeBroker(name, dir string) error {
	AwaitNetwork()
	number, err := strconv.Atoi(strings.TrimPrefix(name, "s"))
	if err != nil {
		return err
	}
	o := &server.Options{
		ServerName: name, Host: Address(number), Port: clientPort, NoSigs: true, HTTPHost: Address(number), HTTPPort: MonitorPort,
		JetStream: true, StoreDir: dir, SyncAlways: true, JetStreamMaxStore: 100 << 30, JetStreamMaxMemory: 1 << 30,
		Cluster: server.ClusterOpts{Name: "gate", Host: Address(number), Port: routePort, PingInterval: time.Second},
		LogFile: filepath.Join(filepath.Dir(dir), name+".log"), Logtime: true,
		PingInterval: time.Second, MaxPingsOut: 3,
	}
	for i := range Brokers {
		if i+1 != number {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("%s:%d", Address(i+1), routePort)})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	s.Shutdown()
	return nil
}
