package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/cmd/freshet/command"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show or check the settings", Args: command.GroupArgs,
		Long:    "The value of a setting comes from its flag; without one from its FRESHET_ variable; without that from the file of\n--config; else it is the default.",
		Example: "  freshet config show > freshet.yaml\n  freshet config validate freshet.yaml",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var config string
	var asJSON bool
	show := &cobra.Command{
		Use: "show", Short: "Print the current settings as a config file", Args: command.NoArgs,
		Long:    "Prints the settings as a config file. Secrets in URLs are replaced by \"hidden\": user and password, everything after\n?, and the path of a webhook. Put them back before you use the file.",
		Example: "  freshet config show --config freshet.yaml\n  freshet config show > freshet.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settle(cmd.Flags(), config, cmd.InOrStdin()); err != nil {
				return command.Usage(err)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(settingsOf(cmd.Flags()))
			}
			showConfig(cmd.OutOrStdout(), cmd.Flags())
			return nil
		},
	}
	var account *account
	validate := &cobra.Command{
		Use: "validate FILE", Short: "Check a config file", Args: command.OneArg("FILE"),
		Long:    "Checks a file of settings (- for standard input), and the files that it names: seeds, rules, opt-outs, weights,\ntokens, secrets, certificates. It prints each fault, and the exit code is 2 if there is one.",
		Example: "  freshet config validate freshet.yaml\n  freshet config show | freshet config validate -",
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
			s := crawlFlags(flags)
			err := settleFile(flags, args[0], cmd.InOrStdin())
			if _, fault := readRules(s.options.Scope, s.optOut); err == nil {
				err = fault
			}
			if err == nil {
				err = s.reachable(cmd.ErrOrStderr(), args[0])
			}
			if err == nil {
				err = s.fit()
			}
			if err != nil {
				return command.Usage(err)
			}
			fact := struct {
				File  string `json:"file"`
				Valid bool   `json:"valid"`
			}{args[0], true}
			return account.give(nil, "", fact, args[0]+": valid")
		},
	}
	crawlFlags(show.Flags())
	show.Flags().StringVar(&config, "config", "", "YAML file with settings; - for standard input")
	show.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	account = accountOf(validate)
	cmd.AddCommand(show, validate)
	return cmd
}

// settingsOf returns the values of the settings, texts or lists of texts, by their names with _ in place of -.
func settingsOf(flags *pflag.FlagSet) map[string]any {
	all := map[string]any{}
	flags.VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) {
			return
		}
		var value any = append([]string{}, shown(f)...)
		if _, list := f.Value.(pflag.SliceValue); !list {
			value = shown(f)[0]
		}
		all[strings.ReplaceAll(f.Name, "-", "_")] = value
	})
	return all
}

// reachable returns an error if settings with seeds lack a contact that their crawl needs. For settings without seeds
// it only prints a note, because the seeds are unknown.
func (s *crawlSettings) reachable(out io.Writer, name string) error {
	if s.seeds == "" || s.seeds == "-" {
		if s.contact == "" && !s.loopbackOnly(nil) {
			fmt.Fprintf(out, "%s: no contact: a crawl beyond loopback needs one, such as contact: mailto:you@example.org\n", name)
		}
		return nil
	}
	seeds, err := readSeeds(nil, s.seeds, nil)
	if err == nil && s.contact == "" && !s.loopbackOnly(seeds) {
		err = fmt.Errorf("%s: %w", name, errContact)
	}
	return err
}

// fit returns the error with which a crawl would refuse settings that are valid one by one, or a file that they name.
func (s *crawlSettings) fit() error {
	_, refused := s.refresh.options()
	_, closed := s.listening(true)
	_, unsigned := s.feed.webhooks()
	return cmp.Or(refused, closed, unsigned)
}
