package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// TestTerminalLog holds what a person at a terminal reads of the log: no time, no level=, no name of a package, and
// nothing that moves the cursor.
func TestTerminalLog(t *testing.T) {
	var out strings.Builder
	log := slog.New(&terminalLog{out: &out, level: slog.LevelWarn, mu: new(sync.Mutex)})
	log.Info("unseen")
	log.Warn("scope changed: offering the links of 3 stored pages again")
	log.With("sink", "a").Error("a delivery failed", "error", fmt.Errorf("sink: %w", errors.New("refused\x1b[2J\nagain")), "again_in", 3)
	want := "\r\x1b[Kfreshet: warning: scope changed: offering the links of 3 stored pages again\n" +
		"\r\x1b[Kfreshet: error: a delivery failed (sink a, error refused\ufffd[2J again, again in 3)\n"
	if out.String() != want {
		t.Errorf("printed\n%q, want\n%q", out.String(), want)
	}
}
