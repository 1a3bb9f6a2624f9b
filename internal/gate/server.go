//go:build linux

package main

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

// servers is how many there are: s1, s2, s3. Their numbers are those of their addresses.
const servers = 3

const (
	clientPort = 4222
	routePort  = 6222
)

// serverURLs returns where clients find the servers.
func serverURLs() string {
	var all []string
	for i := range servers {
		all = append(all, fmt.Sprintf("nats://%s:%d", address(i+1), clientPort))
	}
	return strings.Join(all, ",")
}

// serve runs a NATS server that syncs all that it writes.
func serve(name, dir string) error {
	awaitNetwork()
	number, err := strconv.Atoi(strings.TrimPrefix(name, "s"))
	if err != nil {
		return err
	}
	o := &server.Options{
		ServerName: name, Host: address(number), Port: clientPort, NoSigs: true,
		JetStream: true, StoreDir: dir, SyncAlways: true, JetStreamMaxStore: 100 << 30, JetStreamMaxMemory: 1 << 30,
		Cluster: server.ClusterOpts{Name: "gate", Host: address(number), Port: routePort, PingInterval: time.Second},
		LogFile: filepath.Join(filepath.Dir(dir), name+".log"), Logtime: true,
		PingInterval: time.Second, MaxPingsOut: 3,
	}
	for i := range servers {
		if i+1 != number {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("%s:%d", address(i+1), routePort)})
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
