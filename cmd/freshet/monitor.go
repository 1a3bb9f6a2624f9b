package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/nats-io/nats.go"
)

// checkSync returns an error if a server does not sync what it acknowledges, or if no server answers. A cluster works
// while some of its servers are down, so it only warns of these.
func (s *clusterSettings) checkSync(ctx context.Context, logger *slog.Logger) error {
	client, err := s.monitoring()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var silent error
	answered := len(s.monitors) == 0
	for _, monitor := range s.monitors {
		within, cancel := context.WithTimeout(ctx, tryTime)
		err := isSynced(within, client, monitor)
		cancel()
		switch {
		case errors.Is(err, errSilent):
			logger.Warn("not checked whether a NATS server syncs what it acknowledges: it does not answer", "error", err)
			silent = errors.Join(silent, err)
		case err != nil:
			return fmt.Errorf("--nats-monitor: %w", err)
		default:
			answered = true
		}
	}
	if !answered {
		return fmt.Errorf("--nats-monitor: no server answers: %w", silent)
	}
	return nil
}

// monitoring returns a client for the servers' monitoring addresses. It trusts the authority of the servers, and shows
// the same certificate as to them.
func (s *clusterSettings) monitoring() (*http.Client, error) {
	secrets, err := s.tls()
	if err != nil {
		return nil, err
	}
	var o nats.Options
	for _, set := range secrets {
		if err := set(&o); err != nil {
			return nil, fmt.Errorf("%w: %s", err, remedy(err))
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.RootCAsCB != nil {
		if config.RootCAs, err = o.RootCAsCB(); err != nil {
			return nil, err
		}
	}
	if o.TLSCertCB != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			own, err := o.TLSCertCB()
			return &own, err
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport}, nil
}

// errSilent means that no answer came from a monitoring address.
var errSilent = errors.New("no answer")

// mostTold is the maximum size of a server's answer about itself, in bytes.
const mostTold = 1 << 20

// isSynced asks a NATS server's monitoring address whether the server syncs entries before it acknowledges them. It
// returns an error if not, and errSilent if no answer came.
func isSynced(ctx context.Context, client *http.Client, monitor string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(monitor, "/")+"/varz", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	switch {
	case err != nil && strings.Contains(err.Error(), "tls: "):
		return fmt.Errorf("%w: %w: %s", errSilent, err, remedy(err))
	case err != nil:
		return fmt.Errorf("%w: %w: does the NATS server run, and does it have an http_port?", errSilent, err)
	}
	defer answer.Body.Close()
	var told struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config *struct {
				Always bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, mostTold)).Decode(&told)
	switch {
	case answer.StatusCode != http.StatusOK || err != nil:
		return fmt.Errorf("%s answers %s, and not as the monitoring of a NATS server does", monitor, answer.Status)
	case told.JetStream.Config == nil:
		return fmt.Errorf("the NATS server %s at %s has no JetStream: give it a jetstream section", told.Name, monitor)
	case !told.JetStream.Config.Always:
		return fmt.Errorf("a server acknowledges before it syncs: write sync_interval: always into the jetstream section of %s at %s, and restart it", told.Name, monitor)
	}
	return nil
}
