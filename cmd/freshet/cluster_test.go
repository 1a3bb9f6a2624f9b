package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
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
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // for its certificate, of 127.0.0.1
	defer web.Close()
	at := broker.Start(t, server.Options{
		Username: "freshet", Password: secretOfNATS, TLS: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12},
	}).Addr().String()
	ca := written(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	if err := connects(t, clusterSettings{servers: []string{"tls://freshet:" + secretOfNATS + "@" + at}, ca: ca}); err != nil {
		t.Error(err)
	}
	var unknown x509.UnknownAuthorityError
	for says, s := range map[string]clusterSettings{
		unknown.Error():           {servers: []string{"tls://freshet:" + secretOfNATS + "@" + at}},
		"Authorization Violation": {servers: []string{"tls://" + at}, ca: ca},
		"authorization violation": {servers: []string{"tls://freshet:" + secretOfNATS + "2@" + at}, ca: ca},
		"escape":                  {servers: []string{"tls://freshet:" + secretOfNATS + "%zz@" + at}, ca: ca},
	} {
		if err := connects(t, s); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(says)) {
			t.Errorf("%v, want %q", err, says)
		}
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
