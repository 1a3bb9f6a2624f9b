package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	streams "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/spf13/pflag"

	"freshet/internal/broker"
	"freshet/node/cluster"
)

func written(t *testing.T, name string, text []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// connects returns the error of an attempt to connect, and holds that it contains no secret.
func connects(t *testing.T, s clusterSettings) error {
	t.Helper()
	conn, err := s.connect()
	if err == nil {
		conn.Close()
		return nil
	}
	if strings.Contains(err.Error(), secretOfNATS) {
		t.Errorf("the error tells a secret: %v", err)
	}
	return err
}

const secretOfNATS = "a-secret"

// TestClusterByPassword holds that a server's user and password are taken from its address, that others are refused,
// and that TLS is asked for and its authority checked.
func TestClusterByPassword(t *testing.T) {
	config, ca := encrypted(t)
	at := broker.Start(t, server.Options{Username: "freshet", Password: secretOfNATS, TLS: true, TLSTimeout: 5, TLSConfig: config}).Addr().String()
	open := broker.Start(t, server.Options{}).Addr().String()
	if err := connects(t, clusterSettings{servers: []string{"tls://freshet:" + secretOfNATS + "@" + at}, ca: ca}); err != nil {
		t.Error(err)
	}
	for says, s := range map[string]clusterSettings{
		"--nats-ca":         {servers: []string{"tls://freshet:" + secretOfNATS + "@" + at}},
		"a user and ":       {servers: []string{"tls://" + at}, ca: ca},
		"or a file of cred": {servers: []string{"tls://freshet:" + secretOfNATS + "2@" + at}, ca: ca},
		"escape":            {servers: []string{"tls://freshet:" + secretOfNATS + "%zz@" + at}, ca: ca},
		"has no TLS":        {servers: []string{"tls://" + open}, ca: ca},
		"certificate has":   {servers: []string{strings.Replace("tls://"+at, "127.0.0.1", "localhost", 1)}, ca: ca},
		"the right file":    {servers: []string{at}, ca: ca + "2"},
		"NATS server run":   {servers: []string{"127.0.0.1:1"}},
	} {
		if err := connects(t, s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// encrypted returns the configuration of a server with a certificate for 127.0.0.1, and the file of its authority.
func encrypted(t *testing.T) (config *tls.Config, ca string) {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // for its certificate
	defer web.Close()
	ca = written(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	return &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}, ca
}

// mutual is encrypted for a server that asks for a certificate. The authority's own will do, with the key.
func mutual(t *testing.T) (config *tls.Config, ca, key string) {
	t.Helper()
	config, ca = encrypted(t)
	config.ClientAuth = tls.RequireAnyClientCert
	pkcs8, err := x509.MarshalPKCS8PrivateKey(config.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return config, ca, written(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// TestClusterByCertificate holds that a node shows a certificate to a server that asks for one. Without it, the error
// says what to give.
func TestClusterByCertificate(t *testing.T) {
	config, ca, key := mutual(t)
	servers := []string{broker.Start(t, server.Options{TLS: true, TLSTimeout: 5, TLSConfig: config}).Addr().String()}
	if err := connects(t, clusterSettings{servers: servers, ca: ca, cert: ca, key: key}); err != nil {
		t.Error(err)
	}
	for says, s := range map[string]clusterSettings{
		"--nats-cert and": {servers: servers, ca: ca},
		"give both":       {servers: servers, ca: ca, cert: ca},
		"the right file":  {servers: servers, ca: ca, cert: key, key: ca},
	} {
		if err := connects(t, s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// TestExpiredCertificate holds that the error about an expired certificate says so.
func TestExpiredCertificate(t *testing.T) {
	if got := remedy(x509.CertificateInvalidError{Reason: x509.Expired}); !strings.Contains(got, "renew") {
		t.Error(got)
	}
}

// TestMonitorOfALostServer holds that a node starts while one of the servers is down, and only then: a server that does
// not sync is refused, and so are addresses at which nobody answers.
func TestMonitorOfALostServer(t *testing.T) {
	monitored := func(synced bool) string {
		s := broker.Start(t, server.Options{JetStream: true, SyncAlways: synced, HTTPHost: "127.0.0.1", HTTPPort: -1})
		return "http://" + s.MonitorAddr().String()
	}
	const lost = "http://127.0.0.1:1"
	good, bad := monitored(true), monitored(false)
	bare := "http://" + broker.Start(t, server.Options{HTTPHost: "127.0.0.1", HTTPPort: -1}).MonitorAddr().String()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, c := range []struct {
		monitors []string
		says     string // "": the node starts
	}{
		{nil, ""}, {[]string{lost, good}, ""}, {[]string{lost}, "no server answers"}, {[]string{lost, good, bad}, "sync_interval: always"},
		{[]string{good + "/"}, ""}, {[]string{bare}, "give it a jetstream section"}, {[]string{other.URL}, "not as the monitoring"}, {[]string{lost}, "http_port"},
	} {
		s := clusterSettings{monitors: c.monitors}
		err := s.checkSync(t.Context(), slog.New(slog.DiscardHandler))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.monitors, err, c.says)
		}
	}
}

// TestMonitorOverTLS holds that a monitoring address with https is asked with the authority and the certificate of the
// servers. Without them, the error says what to give.
func TestMonitorOverTLS(t *testing.T) {
	config, ca, key := mutual(t)
	s := broker.Start(t, server.Options{JetStream: true, SyncAlways: true, TLS: true, TLSTimeout: 5, TLSConfig: config, HTTPHost: "127.0.0.1", HTTPSPort: -1})
	direct := "https://" + s.MonitorAddr().String() // NATS asks for no certificate there, unlike a proxy
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"server_name": "behind", "jetstream": {"config": {"sync_always": true}}}`)
	}))
	proxy.TLS = config.Clone()
	proxy.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	proxy.StartTLS()
	defer proxy.Close()
	for _, c := range []struct {
		monitor, ca, cert, key string
		says                   string // "": the node starts
	}{
		{monitor: direct, ca: ca},
		{monitor: proxy.URL, ca: ca, cert: ca, key: key},
		{monitor: direct, says: "with --nats-ca"},
		{monitor: proxy.URL, ca: ca, says: "--nats-cert and --nats-key"},
		{monitor: strings.Replace(direct, "127.0.0.1", "localhost", 1), ca: ca, says: "its certificate has"},
		{monitor: direct, ca: ca + "2", says: "the right file"},
	} {
		err := (&clusterSettings{monitors: []string{c.monitor}, ca: c.ca, cert: c.cert, key: c.key}).checkSync(t.Context(), slog.New(slog.DiscardHandler))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestDeployedServers holds that NATS accepts its settings in deploy/cluster, and that a node with the settings of
// compose.tls.yaml connects to a server with those of nats.tls.conf, and one without a certificate does not.
func TestDeployedServers(t *testing.T) {
	dir := t.TempDir()
	ca, key := filepath.Join(dir, "nats.pem"), filepath.Join(dir, "nats.key")
	certificate(t, ca, key) // its own authority
	t.Setenv("NATS_NAME", "nats-1")
	started := func(name string) *server.Server {
		text := strings.NewReplacer("/etc/nats-tls/ca.pem", ca, "/etc/nats-tls", dir, "store_dir: /data", "store_dir: "+t.TempDir(), "port: 8222", "port: -1").Replace(fileOf(t, "deploy", "cluster", name))
		o, err := server.ProcessConfigFile(written(t, name, []byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		o.Port, o.HTTPHost, o.Cluster, o.Routes = server.RANDOM_PORT, "127.0.0.1", server.ClusterOpts{}, nil // alone
		return broker.Start(t, *o)
	}
	check := func(s *server.Server, scheme string, node clusterSettings) error {
		node.servers, node.monitors = []string{s.Addr().String()}, []string{scheme + s.MonitorAddr().String()}
		if err := connects(t, node); err != nil {
			return err
		}
		return node.checkSync(t.Context(), slog.New(slog.DiscardHandler))
	}
	plain, secret := started("nats.conf"), started("nats.tls.conf")
	if err := check(plain, "http://", clusterSettings{}); err != nil {
		t.Error(err)
	}
	if err := check(secret, "https://", clusterSettings{ca: ca, cert: ca, key: key}); err != nil {
		t.Error(err)
	}
	if err := check(secret, "https://", clusterSettings{ca: ca}); err == nil {
		t.Error("a node without a certificate is taken")
	}
}

// TestServerThatHangs holds that a node leaves a server that does not answer any more, though the connection is open,
// before its lease ends.
func TestServerThatHangs(t *testing.T) {
	at := broker.Start(t, server.Options{}).Addr().String()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var hangs atomic.Bool // what has been sent by then arrives; nothing after it does
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			defer from.Close()
			if to, err := net.Dial("tcp", at); err == nil && !hangs.Load() {
				defer to.Close()
				go func() { _, _ = io.Copy(to, from) }()
				go func() { _, _ = io.Copy(silenced{from, &hangs}, to) }()
			}
		}
	}()
	s := clusterSettings{servers: []string{l.Addr().String()}}
	lost := make(chan struct{})
	conn, err := s.connect(nats.DisconnectErrHandler(func(*nats.Conn, error) { close(lost) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	hangs.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), staleTime+2*time.Second)
	defer cancel()
	select {
	case <-lost:
	case <-ctx.Done():
		t.Error("the node stays with the server")
	}
}

type silenced struct {
	net.Conn
	by *atomic.Bool
}

func (s silenced) Write(p []byte) (int, error) {
	if s.by.Load() {
		return len(p), nil
	}
	return s.Conn.Write(p)
}

// TestReachAgain holds that a command asks again if an answer is lost, as when the servers elect a leader.
func TestReachAgain(t *testing.T) {
	s := clusterSettings{servers: []string{broker.Start(t, server.Options{}).Addr().String()}}
	lost := []error{nats.ErrTimeout, context.DeadlineExceeded, fmt.Errorf("a bucket: %w", &streams.APIError{Code: 503})}
	asked := 0
	if err := s.reach(t.Context(), func(context.Context, *nats.Conn) error {
		if asked++; asked <= len(lost) {
			return lost[asked-1]
		}
		return nil
	}); err != nil || asked != len(lost)+1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// TestClusterHidesPasswords holds that the settings are shown without the password of a NATS server.
func TestClusterHidesPasswords(t *testing.T) {
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	crawlFlags(flags)
	if err := flags.Set("nats", "nats://freshet:"+secretOfNATS+"@a:4222,nats://freshet:"+secretOfNATS+"@b:4222"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(shown(flags.Lookup("nats")), " "); strings.Contains(got, secretOfNATS) || !strings.Contains(got, "b:4222") {
		t.Error(got)
	}
}

// TestSecondProcessOfANode starts a node twice in one directory. The second process is refused, and the first keeps its
// lease.
func TestSecondProcessOfANode(t *testing.T) {
	url, data := broker.JetStream(t).ClientURL(), filepath.Join(t.TempDir(), "data")
	config := written(t, "freshet.yaml", []byte("listen: \"\"\ncontact: mailto:a@b.test\n"))
	args := []string{"serve", "--config", config, "--data", data, "--nats", url, "--nats-replicas", "1", "--node", "one"}
	start(t, args...).awaitLine("serving")
	run := func() string {
		conn, err := nats.Connect(url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		nodes, err := cluster.Nodes(t.Context(), conn, "freshet")
		if err != nil || len(nodes) != 1 {
			t.Fatal(nodes, err)
		}
		return nodes[0].Run
	}
	first := run()
	if _, said := freshet(t, 1, args...); !strings.Contains(said, "another process") {
		t.Error(said)
	}
	if run() != first {
		t.Error("the second process has taken the lease")
	}
}

// TestClusterByCredentials holds that --nats-creds signs in with a key, and that one of another account is refused.
func TestClusterByCredentials(t *testing.T) {
	made := func(kp nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		if err != nil {
			t.Fatal(err)
		}
		public, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return kp, public
	}
	signed := func(text string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	operator, operatorName := made(nkeys.CreateOperator())
	creds := func(account nkeys.KeyPair) string {
		user, name := made(nkeys.CreateUser())
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(signed(jwt.NewUserClaims(name).Encode(account)), seed)
		if err != nil {
			t.Fatal(err)
		}
		return written(t, "node.creds", text)
	}
	account, accountName := made(nkeys.CreateAccount())
	stranger, _ := made(nkeys.CreateAccount())
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(accountName, signed(jwt.NewAccountClaims(accountName).Encode(operator))); err != nil {
		t.Fatal(err)
	}
	at := broker.Start(t, server.Options{TrustedOperators: []*jwt.OperatorClaims{jwt.NewOperatorClaims(operatorName)}, AccountResolver: resolver}).Addr().String()
	if err := connects(t, clusterSettings{servers: []string{at}, creds: creds(account)}); err != nil {
		t.Error(err)
	}
	if err := connects(t, clusterSettings{servers: []string{at}, creds: creds(stranger)}); err == nil {
		t.Error("credentials of a stranger are taken")
	}
	if err := connects(t, clusterSettings{servers: []string{at}}); err == nil {
		t.Error("a node without credentials is taken")
	}
}

// TestClusterOfVariables holds that the commands for operators find the cluster as a node does: by the environment, by
// the file of settings, and first of all by what is typed.
func TestClusterOfVariables(t *testing.T) {
	url := broker.JetStream(t).ClientURL()
	config := written(t, "freshet.yaml", []byte("nats: ["+url+"]\ncluster: by-file\n"))
	for _, c := range []struct{ variable, want string }{{"", "by-file"}, {"by-variable", "by-variable"}} {
		if c.variable != "" {
			t.Setenv("FRESHET_CLUSTER", c.variable)
		}
		if _, said := freshet(t, 1, "cluster", "status", "--config", config); !strings.Contains(said, "no cluster "+c.want) {
			t.Error(said)
		}
	}
	t.Setenv("FRESHET_NATS", url)
	if _, said := freshet(t, 1, "cluster", "drain", "one", "--cluster", "typed"); !strings.Contains(said, "no cluster typed") {
		t.Error(said)
	}
}

// TestTrialWithWrongSettings holds that freshet cluster dev refuses a setting that no node would start with.
func TestTrialWithWrongSettings(t *testing.T) {
	for _, text := range []string{"bogus=1", "budget", "budget=many"} {
		if _, said := freshet(t, 2, "cluster", "dev", "--for", "1s", "--nodes", "1", "--dir", t.TempDir(), "--set", text); !strings.Contains(said, "--set "+strconv.Quote(text)) {
			t.Error(said)
		}
	}
}
