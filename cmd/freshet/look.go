package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/dashboard"
	"freshet/store"
)

// look asks the API of a data directory: that of the crawl that runs in it, or, if none does, the same
// API over the directory itself.
func look(data, crawl, path string, query url.Values, read func(io.Reader) error) error {
	client, where, closeStore, err := apiOf(data, crawl)
	if err != nil {
		return err
	}
	defer closeStore()
	response, err := client.Get(where + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return read(response.Body)
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	var fault struct{ Error string }
	if json.Unmarshal(text, &fault) == nil && fault.Error != "" {
		return errors.New(fault.Error)
	}
	return fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
}

// apiOf returns a client of a directory's API.
func apiOf(data, crawl string) (client *http.Client, where string, stop func(), err error) {
	socket := filepath.Join(data, socketName)
	if conn, err := net.Dial("unix", socket); err == nil {
		conn.Close()
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}
		return &http.Client{Transport: transport}, "http://freshet", transport.CloseIdleConnections, nil
	}
	if _, err := os.Stat(data); err != nil {
		return nil, "", nil, fmt.Errorf("no data directory: %w", err)
	}
	s, err := store.Open(data, store.Options{Crawl: crawl, ReadOnly: true})
	if err != nil {
		return nil, "", nil, err
	}
	return &http.Client{Transport: inProcess{dashboard.Handler(reader{store: s})}}, "http://freshet", func() { s.Close() }, nil
}

// inProcess answers requests by a handler, without a socket.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. The handler runs until the body is read or closed.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &pipedResponse{header: http.Header{}, out: out, begun: make(chan int, 1)}
	go func() {
		p.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		out.Close()
	}()
	code := <-w.begun
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: w.header, Body: body, Request: r}, nil
}

// pipedResponse is the handler's side of inProcess.
type pipedResponse struct {
	header http.Header
	out    *io.PipeWriter
	begun  chan int // gets the status code once
	wrote  bool
}

func (w *pipedResponse) Header() http.Header { return w.header }

func (w *pipedResponse) WriteHeader(code int) {
	if !w.wrote {
		w.wrote = true
		w.begun <- code
	}
}

func (w *pipedResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

// directoryFlags adds the flags that name a crawl to look into.
func directoryFlags(cmd *cobra.Command) (data, crawl *string) {
	return cmd.Flags().String("data", "data", "data directory"), cmd.Flags().String("crawl", "main", "name of the crawl in it")
}

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Show what a crawl is doing, or has done", Args: cobra.NoArgs,
		Example: "  freshet status --data archive\n  freshet status --json",
	}
	data, crawl := directoryFlags(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return look(*data, *crawl, "/api/v1/status", nil, func(body io.Reader) error {
			if *asJSON {
				_, err := io.Copy(cmd.OutOrStdout(), body)
				return err
			}
			rows, err := dashboard.Rows(body)
			for _, row := range rows {
				fmt.Fprintf(cmd.OutOrStdout(), "%-28s %s\n", row.Name, row.Value)
			}
			return err
		})
	}
	return cmd
}

func pagesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "pages", Short: "List the page table", Args: cobra.NoArgs,
		Example: "  freshet pages --json | head\n  freshet pages --site https://example.org",
	}
	data, crawl := directoryFlags(cmd)
	site := cmd.Flags().String("site", "", "only pages of this site, such as https://example.org")
	asJSON := cmd.Flags().Bool("json", false, "print JSON, an object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		query := url.Values{"site": {*site}}
		return look(*data, *crawl, "/api/v1/pages", query, func(body io.Reader) error {
			out := bufio.NewWriter(cmd.OutOrStdout())
			defer out.Flush()
			lines := bufio.NewScanner(body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var page struct {
					dashboard.Page
					Error string `json:"error"`
				}
				if err := json.Unmarshal(lines.Bytes(), &page); err != nil {
					return err
				}
				if page.Error != "" {
					return errors.New(page.Error)
				}
				if *asJSON {
					out.Write(lines.Bytes())
					out.WriteByte('\n')
					continue
				}
				fmt.Fprintf(out, "%s\t%d\tv%d\t%s\t%s\n", page.State, page.Status, page.Version, stamp(page.LastFetched), page.URL)
			}
			return lines.Err()
		})
	}
	return cmd
}

func stamp(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.RFC3339)
}

func historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "history URL", Short: "Show a page's visits and versions", Args: cobra.ExactArgs(1),
		Example: "  freshet history https://example.org/",
	}
	data, crawl := directoryFlags(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return look(*data, *crawl, "/api/v1/history", url.Values{"url": args}, func(body io.Reader) error {
			if *asJSON {
				_, err := io.Copy(cmd.OutOrStdout(), body)
				return err
			}
			var h dashboard.History
			if err := json.NewDecoder(body).Decode(&h); err != nil {
				return err
			}
			printHistory(cmd.OutOrStdout(), h)
			return nil
		})
	}
	return cmd
}

func printHistory(out io.Writer, h dashboard.History) {
	fmt.Fprintf(out, "%s  %s\n", h.Page.URL, h.Page.State)
	for _, v := range h.Visits {
		word := "same"
		switch {
		case v.Noise:
			word = "noise"
		case v.Changed:
			word = "changed"
		case v.Outcome != "stored" && v.Outcome != "not-modified":
			word = "-"
		}
		fmt.Fprintf(out, "visit    %s  %-12s %3d  %-7s v%d  %d bytes  %.3fs  %s\n",
			v.At.Format(time.RFC3339), v.Outcome, v.Status, word, v.Version, v.WireBytes, v.TookS, v.Reason)
	}
	for _, v := range h.Versions {
		fmt.Fprintf(out, "version  %s  v%d  %s  %d bytes  %s  %s %d+%d\n",
			v.At.Format(time.RFC3339), v.Version, v.ContentType, v.SizeBytes, v.Digest, v.WARC, v.OffsetBytes, v.LengthBytes)
	}
}

func catCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cat URL", Short: "Write a stored version's bytes", Args: cobra.ExactArgs(1),
		Long:    "Writes the body of a version, its transfer and content codings undone, to standard output.",
		Example: "  freshet cat https://example.org/ > page.html\n  freshet cat --at 2026-01-31T12:00:00Z https://example.org/",
	}
	data, crawl := directoryFlags(cmd)
	version := cmd.Flags().Uint32("version", 0, "number of the version; 0: the last")
	at := cmd.Flags().String("at", "", "the version that was held at this time, RFC 3339")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		query := url.Values{"url": args}
		if *version != 0 {
			query.Set("version", fmt.Sprint(*version))
		}
		if *at != "" {
			query.Set("at", *at)
		}
		return look(*data, *crawl, "/api/v1/content", query, func(body io.Reader) error {
			_, err := io.Copy(cmd.OutOrStdout(), body)
			return err
		})
	}
	return cmd
}
