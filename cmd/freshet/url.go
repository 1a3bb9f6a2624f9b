package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
	"freshet/crawl/robots"
	"freshet/weburl"
)

func urlCommand() *cobra.Command {
	var base string
	var asJSON bool
	var partitions int
	cmd := &cobra.Command{
		Use:     "url [URL…|-]",
		Short:   "Show the canonical form of a URL",
		Long:    "Prints the canonical form, fingerprint, site, SURT and partition of each URL, one line per URL, or why it cannot be\ncrawled. With - or without a URL, it reads one URL per line from standard input.",
		Example: "  freshet url --json 'HTTP://Example.ORG:80/a/../b?q#part'\n  freshet url --base https://example.org/a/ ../b",
		RunE: func(cmd *cobra.Command, args []string) error {
			if partitions < 1 || partitions > 1<<16 {
				return command.Usage(fmt.Errorf("--partitions %d: want 1 to 65536", partitions))
			}
			var baseURL weburl.URL
			if base != "" {
				var err error
				if baseURL, err = weburl.Parse(base); err != nil {
					return command.Usage(fmt.Errorf("--base: %w", err))
				}
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			encoder := json.NewEncoder(out)
			encoder.SetEscapeHTML(false)
			err := eachArgument(args, cmd.InOrStdin(), func(raw string) error {
				d := weburl.Describe(raw, baseURL, partitions)
				if asJSON {
					return encoder.Encode(d)
				}
				if d.Error != "" {
					_, err := fmt.Fprintf(out, "%s\terror: %s\n", d.Input, d.Error)
					return err
				}
				_, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\n", d.Canonical, d.Fingerprint, d.Site, d.SURT, *d.Partition)
				return err
			})
			return errors.Join(err, out.Flush())
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "resolve against this URL")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	cmd.Flags().IntVar(&partitions, "partitions", 16, "partitions of the data directory")
	return cmd
}

// eachArgument calls f with each argument, or, for - or no argument at all, with each line of in.
func eachArgument(args []string, in io.Reader, f func(string) error) error {
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, arg := range args {
		if arg != "-" {
			if err := f(arg); err != nil {
				return err
			}
			continue
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if err := f(lines.Text()); err != nil {
				return err
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
	}
	return nil
}

func robotsCommand() *cobra.Command {
	var file, agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "robots --file robots.txt --agent NAME URL…",
		Short:   "Show what a robots.txt allows",
		Long:    "Prints \"allow URL\" or \"deny URL\" for each URL, by RFC 9309, and the crawl delay to standard error if one is set.\nWith - or without a URL, it reads one URL per line from standard input.",
		Example: "  freshet robots --file robots.txt --agent freshet https://example.org/private/",
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return command.Usage(errors.New("--file is needed: the robots.txt to read"))
			}
			if file == "-" && (len(args) == 0 || slices.Contains(args, "-")) {
				return command.Usage(errors.New("standard input cannot be both the robots.txt and the URLs: give the URLs as arguments"))
			}
			body, err := command.ReadFile(file, cmd.InOrStdin())
			if err != nil {
				return err
			}
			rules := robots.Parse(body, agent)
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetEscapeHTML(false)
			delay, ok := rules.CrawlDelay()
			if ok && !asJSON {
				fmt.Fprintf(cmd.ErrOrStderr(), "crawl-delay %s\n", delay.Round(time.Millisecond))
			}
			return eachArgument(args, cmd.InOrStdin(), func(raw string) error {
				u, err := parseURL(raw)
				if err != nil {
					return command.Usage(err)
				}
				if asJSON {
					return encoder.Encode(ruled{raw, rules.Allowed(u), delay.Seconds()})
				}
				verdict := "deny"
				if rules.Allowed(u) {
					verdict = "allow"
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), verdict, raw)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "robots.txt to read, - for standard input (required)")
	cmd.Flags().StringVar(&agent, "agent", "freshet", "name of the crawler")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	return cmd
}

// ruled is the result of a robots.txt for a URL.
type ruled struct {
	URL        string  `json:"url"`
	Allowed    bool    `json:"allowed"`
	CrawlDelay float64 `json:"crawl_delay_s"` // 0: none is set
}
