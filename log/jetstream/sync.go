package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrNotSynced means that a server acknowledges entries before they are safe from a power cut.
var ErrNotSynced = errors.New("log: a server acknowledges before it syncs")

// ErrSilent means that nobody answers at an address.
var ErrSilent = errors.New("log: no answer")

// mostTold bounds the answer of a server about itself, in bytes.
const mostTold = 1 << 20

// CheckSync asks a NATS server's monitoring address whether the server syncs entries before it acknowledges them. It
// returns ErrNotSynced if not, and ErrSilent if the server is down.
func CheckSync(ctx context.Context, monitor string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(monitor, "/")+"/varz", nil)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w: does the NATS server run, and does it have an http_port?", ErrSilent, err)
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
		return fmt.Errorf("log: %s answers %s, and not as the monitoring of a NATS server does", monitor, answer.Status)
	case told.JetStream.Config == nil:
		return fmt.Errorf("log: the NATS server %s at %s has no JetStream: give it a jetstream section", told.Name, monitor)
	case !told.JetStream.Config.Always:
		return fmt.Errorf("%w: write sync_interval: always into the jetstream section of %s at %s, and restart it", ErrNotSynced, told.Name, monitor)
	}
	return nil
}
