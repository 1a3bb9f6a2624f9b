package command

import "fmt"

// Exit codes, as documented in the README.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 3
	ExitLimit       = 4
)

// An Error ends the process with a code. Err, if any, is printed.
type Error struct {
	Code int
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Usage marks err as an error of the command line, with its exit code. Usage(nil) is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &Error{ExitUsage, err}
}
