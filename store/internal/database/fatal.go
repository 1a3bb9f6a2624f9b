package database

import (
	"context"
	"fmt"
	"log/slog"
)

// logger passes on the database's messages. Fatalf must not return. A library must not end the process, so Fatalf
// panics with a fatalError.
type logger struct{ log *slog.Logger }

type fatalError struct{ err error }

func (l logger) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("database", "message", fmt.Sprintf(format, args...))
	}
}

func (l logger) Errorf(format string, args ...any) {
	l.log.Error("database", "message", fmt.Sprintf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("store: database: "+format, args...)
	for _, arg := range args {
		if cause, ok := arg.(error); ok {
			err = fmt.Errorf("store: database: %w", cause)
		}
	}
	l.log.Error("database failed", "error", err)
	panic(fatalError{err})
}

func returnFatal(err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	if *err = Fatal(cause); *err == nil {
		panic(cause)
	}
}

// Fatal returns the error that made the database panic. cause is what the caller recovered. It returns nil for
// other panics.
func Fatal(cause any) error {
	if f, ok := cause.(fatalError); ok {
		return f.err
	}
	return nil
}
