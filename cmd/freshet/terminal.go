package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// newLogger returns a logger to out. On a terminal its lines look like the other messages of a command. Elsewhere they
// are for programs, with time and level.
func newLogger(out io.Writer, level slog.Level) *slog.Logger {
	if isTerminal(out) {
		return slog.New(&terminalLog{out: out, level: level, mu: new(sync.Mutex)})
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
}

// terminalLog is a slog.Handler that writes for people: freshet: warning: what (key value, key value).
type terminalLog struct {
	out   io.Writer
	level slog.Level
	attrs []slog.Attr
	mu    *sync.Mutex // held while something is printed
}

// Enabled implements slog.Handler.
func (l *terminalLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// WithAttrs implements slog.Handler.
func (l *terminalLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.attrs = append(slices.Clip(l.attrs), attrs...)
	return &with
}

// WithGroup implements slog.Handler. Names of groups are left out.
func (l *terminalLog) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler. It replaces a line of progress, which comes again.
func (l *terminalLog) Handle(_ context.Context, r slog.Record) error {
	text, details := "freshet: ", []string(nil)
	switch {
	case r.Level >= slog.LevelError:
		text += "error: "
	case r.Level >= slog.LevelWarn:
		text += "warning: "
	}
	add := func(a slog.Attr) bool {
		value := a.Value.Resolve().Any()
		if err, is := value.(error); is {
			value = plainly(err)
		}
		details = append(details, fmt.Sprintf("%s %v", strings.ReplaceAll(a.Key, "_", " "), value))
		return true
	}
	for _, a := range l.attrs {
		add(a)
	}
	r.Attrs(add)
	text += r.Message
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.out, "\r\x1b[K%s\n", strings.Map(harmless, text))
	return err
}

// harmless returns a character of a message as a terminal may get it: what others wrote must not move its cursor.
func harmless(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return ' '
	case !unicode.IsPrint(r):
		return unicode.ReplacementChar
	}
	return r
}
