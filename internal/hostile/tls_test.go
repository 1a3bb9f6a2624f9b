package hostile

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/node"
	"freshet/store"
)

// authority signs certificates for the network's time.
type authority struct {
	t           *testing.T
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pool        *x509.CertPool
}

var (
	begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end   = begin.AddDate(1, 0, 0)
)

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	a.key = a.newKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: begin, NotAfter: end,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.certificate = a.sign(template, template, a.key)
	a.pool.AddCert(a.certificate)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate
}

// server returns the configuration of a server with a certificate for name, valid until the given time.
func (a *authority) server(name string, until time.Time) *tls.Config {
	key := a.newKey()
	leaf := a.sign(&x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: begin, NotAfter: until}, a.certificate, key)
	// Pipes hold nothing: a ticket that nobody reads yet would stop both sides.
	return &tls.Config{SessionTicketsDisabled: true, Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}}}
}

// robotsFailed holds why the robots.txt of a page's site could not be fetched.
func robotsFailed(t *testing.T, s *store.Store, page, why string) {
	t.Helper()
	row, err := s.Site((&trial{}).url(t, page).Site())
	if err != nil || !strings.Contains(row.Robots.Reason, why) {
		t.Errorf("robots.txt for %s: %q, error %v: want %q", page, row.Robots.Reason, err, why)
	}
}

// The crawl does not ask a site with a bad certificate for anything, not even for its robots.txt.
func TestCertificates(t *testing.T) {
	a := newAuthority(t)
	pages := site(map[string]string{"/": html("<title>Secure</title>Nobody overhears this.")})
	trial{
		hosts: func(n *network) {
			n.host("good.test", server{tls: a.server("good.test", end), answer: pages})
			n.host("name.test", server{tls: a.server("other.test", end), answer: pages})
			n.host("expired.test", server{tls: a.server("expired.test", begin.AddDate(0, 1, 0)), answer: pages})
			n.host("unknown.test", server{tls: newAuthority(t).server("unknown.test", end), answer: pages})
			n.host("plain.test", server{answer: pages, first: func(conn net.Conn) error {
				conn.Read(make([]byte, 1))
				io.WriteString(conn, status(http.StatusBadRequest))
				return errors.New("done")
			}})
		},
		seeds: []string{"https://good.test/", "https://name.test/", "https://expired.test/", "https://unknown.test/", "https://plain.test/"},
		options: func(o *node.Options) {
			o.TLSConfig = &tls.Config{RootCAs: a.pool, Time: o.Clock.Now}
		},
		check: func(t *testing.T, n *network, s *store.Store) {
			robotsFailed(t, s, "https://name.test/", "not name.test")
			robotsFailed(t, s, "https://expired.test/", "expired")
			robotsFailed(t, s, "https://unknown.test/", "unknown authority")
		},
		explains: map[string]string{
			"https://good.test/": "", "https://name.test/": "robots: robots-unreachable", "https://expired.test/": "robots: robots-unreachable",
			"https://unknown.test/": "robots: robots-unreachable", "https://plain.test/": "robots: robots-unreachable",
		},
	}.run(t)
}

// A peer that asks to shake hands again, before it answers, is left.
func TestRenegotiation(t *testing.T) {
	a := newAuthority(t)
	config := a.server("evil.test", end)
	config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
	trial{
		hosts: func(n *network) {
			n.host("evil.test", server{first: func(conn net.Conn) error { return renegotiate(conn, config) }})
		},
		seeds: []string{"https://evil.test/"},
		options: func(o *node.Options) {
			o.TLSConfig = &tls.Config{RootCAs: a.pool, Time: o.Clock.Now}
		},
		explains: map[string]string{"https://evil.test/": "robots: robots-unreachable"},
		check: func(t *testing.T, n *network, s *store.Store) {
			robotsFailed(t, s, "https://evil.test/", "no renegotiation")
		},
	}.run(t)
}

// renegotiate shakes hands over conn by TLS 1.2, reads the request, and sends a HelloRequest. crypto/tls cannot send
// one: renegotiate seals it with the keys of the session. It always returns an error.
func renegotiate(conn net.Conn, config *tls.Config) error {
	config = config.Clone()
	var secrets bytes.Buffer
	config.KeyLogWriter = &secrets
	sent := &recorded{Conn: conn}
	secure := tls.Server(sent, config)
	if err := secure.Handshake(); err != nil {
		return err
	}
	if _, err := secure.Read(make([]byte, 4096)); err != nil {
		return err
	}
	fields := strings.Fields(secrets.String()) // CLIENT_RANDOM, the random, the master secret
	clientRandom, err := hex.DecodeString(fields[1])
	if err != nil {
		return err
	}
	master, err := hex.DecodeString(fields[2])
	if err != nil {
		return err
	}
	serverRandom := sent.bytes.Bytes()[11:43] // of the ServerHello, past its record's and its own header
	keys := expand(master, append([]byte("key expansion"), append(append([]byte{}, serverRandom...), clientRandom...)...), 40)
	key, salt := keys[16:32], keys[36:40]
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	sequence := binary.BigEndian.AppendUint64(nil, 1) // the Finished message was 0
	helloRequest := []byte{0, 0, 0, 0}
	associated := append(append([]byte{}, sequence...), 22, 3, 3, 0, byte(len(helloRequest)))
	payload := seal.Seal(append([]byte{}, sequence...), append(append([]byte{}, salt...), sequence...), helloRequest, associated)
	if _, err := conn.Write(append([]byte{22, 3, 3, 0, byte(len(payload))}, payload...)); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, conn); n == 0 || err != nil {
		return errors.New("no alert came")
	}
	return errors.New("done")
}

// recorded keeps the bytes that are written to it.
type recorded struct {
	net.Conn
	bytes bytes.Buffer
}

func (c *recorded) Write(p []byte) (int, error) {
	c.bytes.Write(p)
	return c.Conn.Write(p)
}

// expand is P_SHA256 of RFC 5246 section 5.
func expand(secret, seed []byte, n int) (out []byte) {
	sum := func(data []byte) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write(data)
		return mac.Sum(nil)
	}
	for a := sum(seed); len(out) < n; a = sum(a) {
		out = append(out, sum(append(append([]byte{}, a...), seed...))...)
	}
	return out[:n]
}
