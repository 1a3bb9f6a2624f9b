package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// GroupArgs returns an error that suggests a command if args is not empty: the first one names no command of the group.
func GroupArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	var names []string
	for _, below := range cmd.Commands() {
		names = append(names, below.Name())
	}
	if near := Nearest(args[0], names); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("unknown command %q (%ssee %s --help)", args[0], hint, cmd.CommandPath())
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if info, err := os.Stat(args[0]); err == nil && info.IsDir() && cmd.Flags().Lookup("data") != nil {
		hint = fmt.Sprintf("did you mean --data %s? ", args[0])
	}
	return fmt.Errorf("unexpected argument %q (%ssee %s --help)", args[0], hint, cmd.CommandPath())
}

// AtMostOneArg returns a check for no argument or one. name is what the error calls it.
func AtMostOneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return fmt.Errorf("want at most one %s, got %d arguments (see %s --help)", name, len(args), cmd.CommandPath())
	}
}

// OneArg returns a check for exactly one argument. name is what the error calls it.
func OneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("want one %s, got %d arguments (see %s --help)", name, len(args), cmd.CommandPath())
	}
}
