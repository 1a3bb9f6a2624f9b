package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
)

// account reports what a command has done: in words on standard error or, with --json, as a line of JSON on standard
// output.
type account struct {
	cmd    *cobra.Command
	asJSON bool
}

func accountOf(cmd *cobra.Command) *account {
	a := &account{cmd: cmd}
	cmd.Flags().BoolVar(&a.asJSON, "json", false, "print what was done as JSON, one object per line")
	return a
}

// give reports one fact and clears the line of progress; p may be nil. If result is "-", the result goes to standard
// output, so JSON goes to standard error.
func (a *account) give(p *progress, result string, fact any, words string) error {
	out, line := a.cmd.ErrOrStderr(), words
	if a.asJSON {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(fact); err != nil {
			return err
		}
		out, line = command.Beside(a.cmd, result), strings.TrimSuffix(text.String(), "\n")
	}
	if p == nil {
		_, err := fmt.Fprintln(out, line)
		return err
	}
	p.println(out, line)
	return nil
}
