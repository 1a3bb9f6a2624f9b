package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/crawl/explain"
	"freshet/dashboard"
	"freshet/store"
)

func viewCommand() *cobra.Command {
	var listen string
	var length command.Duration
	cmd := &cobra.Command{
		Use: "view [DIR]", Short: "Show what is stored, in a browser", Args: command.AtMostOneArg("DIR"),
		Long: "Serves the window on a data directory until Ctrl-C: find a page by part of its URL, see its versions in a\n" +
			"calendar, as they were and side by side, and see its visits and how it changes. Nothing is fetched and nothing\n" +
			"is changed. It also works while a crawl is running in the directory, and on a read-only disk.\n" +
			"Commands that look, such as freshet status, work beside it.",
		Example: "  freshet view archive\n  freshet view archive --listen 127.0.0.1:9000",
	}
	account, flags := accountOf(cmd), cmd.Flags()
	data, crawl := directoryFlags(cmd)
	flags.Lookup("data").Usage += ", if DIR is not given"
	flags.StringVar(&listen, "listen", defaultListen, "loopback address to listen on; if the default is in use, another port is chosen")
	flags.Var(&length, "for", "stop after this time; 0s: at Ctrl-C")
	check(flags, validLoopback, "listen")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			*data = args[0]
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if length > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, clock.Real().Deadline(time.Duration(length)))
			defer cancel()
		}
		return view(ctx, account, *data, *crawl, listen)
	}
	return cmd
}

// validLoopback accepts an address that only this machine can reach.
func validLoopback(listen string) error {
	host, err := hostOf(listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q is beyond loopback, where anybody could look in: use a loopback address with a reverse proxy or ssh -L", listen)
	}
	return nil
}

// view serves the window on a directory until ctx ends.
func view(ctx context.Context, account *account, data, crawl, listen string) error {
	show, beside, end, err := windowOn(ctx, data, crawl)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if errors.Is(err, syscall.EADDRINUSE) && !account.cmd.Flags().Changed("listen") {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return errors.Join(listenError(listen, err), end())
	}
	f := &front{}
	if beside != nil {
		path := filepath.Join(data, viewSocketName)
		// On a disk that nobody can write to there is no socket, but there commands open the directory too.
		if socket, err := listenSocket(path); err == nil {
			f.socket = path
			f.serve(socket, onlyCrawl(crawl, "shown by freshet view", beside))
		}
	}
	f.serve(listener, dashboard.Access{}.Guard(show))
	fact := struct {
		URL  string `json:"url"`
		Data string `json:"data"`
	}{"http://" + listener.Addr().String() + "/", data}
	err = account.give(nil, "", fact, fmt.Sprintf("%s shows %s; press Ctrl-C to end", fact.URL, data))
	if err == nil {
		<-ctx.Done()
	}
	f.stop()
	return errors.Join(err, end())
}

// windowOn returns the window of the crawl that runs in a directory. If none runs, it opens the directory itself. An
// explanation is then by the default settings: a request must not name files of this machine. beside then answers
// commands of the directory's owner, who may.
func windowOn(ctx context.Context, data, crawl string) (window, beside http.Handler, end func() error, err error) {
	type opened struct {
		window, beside http.Handler
		end            func() error
	}
	o, err := patiently(ctx, data, func() (o opened, err error) {
		way, err := apiOf(ctx, data, func() (*api, error) { return nil, nil })
		if err != nil {
			return o, err
		}
		if way != nil {
			return opened{window: lookOnly(way), end: way.close}, nil
		}
		s, err := openStore(data, store.Options{Crawl: crawl, ReadOnly: true})
		if err != nil {
			return o, err
		}
		shown := newReader(s)
		shown.explain = func(raw string, most time.Duration) (explain.Explanation, error) {
			return explainStopped(s, nil, raw, most)
		}
		options, closeTexts := readingOptions(s, data, crawl)
		return opened{dashboard.Handler(apiOptions(shown, nil)), dashboard.Handler(options), func() error {
			return errors.Join(closeTexts(), s.Close())
		}}, nil
	})
	return o.window, o.beside, o.end, err
}

// lookOnly forwards only requests that do not change anything.
func lookOnly(way http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{Transport: way, FlushInterval: time.Second, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: "freshet"})
		r.Out.Host = r.In.Host // so that addresses in answers are those of this server
		dashboard.LookOnly(r.Out)
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			dashboard.Refuse(w, http.StatusMethodNotAllowed, errors.New("this window cannot steer the crawl: use the commands of freshet"))
			return
		}
		proxy.ServeHTTP(w, r)
	})
}
