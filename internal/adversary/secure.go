package adversary

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	"freshet/clock"
)

// authority signs the certificates of the web's hosts. One key serves them all.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(c *clock.Clock) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "adversary"},
		NotBefore: c.Now().Add(-time.Hour), NotAfter: c.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(raw)
	return &authority{key, certificate}, err
}

// config returns the configuration of a host's handshakes.
func (a *authority) config(h *Host) *tls.Config {
	return &tls.Config{
		SessionTicketsDisabled: true, // pipes have no buffer: an unread ticket would block both sides
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := hello.ServerName
			if h.wrongly {
				name = "other.test"
			}
			template := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name},
				NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter}
			raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &a.key.PublicKey, a.key)
			return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: a.key}, err
		},
	}
}

// Authority returns the certificate authority of the web's hosts, in PEM.
func (w *Web) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.secure.certificate.Raw})
}
