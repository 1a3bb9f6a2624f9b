package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go"

	"freshet/clock"
	"freshet/consent"
	"freshet/feed/sink"
	"freshet/node"
)

// isSink returns an error for a URL that is no valid sink.
func isSink(u *url.URL) error {
	path := strings.Trim(u.Path, "/")
	switch engine := searchEngine(u); {
	case engine != nil && u.Hostname() != "" && path != "" && !strings.Contains(path, "/"),
		u.Scheme == "nats" && u.Hostname() != "" && path != "" && !strings.Contains(path, "/"),
		u.Scheme == "file" && u.Host == "" && path != "":
		return nil
	}
	return errors.New("want opensearch+https://HOST:9200/INDEX, nats://HOST:4222/SUBJECT or file:///FOLDER")
}

// searchEngine returns the address of a search engine's index, or nil for another sink.
func searchEngine(u *url.URL) *url.URL {
	kind, scheme, _ := strings.Cut(u.Scheme, "+")
	if kind != "opensearch" && kind != "elasticsearch" || scheme != "http" && scheme != "https" {
		return nil
	}
	index := *u
	index.Scheme = scheme
	return &index
}

// target returns the target of a crawl's sink. folder is the sink's own folder.
func target(u *url.URL, crawl, folder string, c *clock.Clock) (sink.Target, error) {
	if index := searchEngine(u); index != nil {
		return sink.NewSearchEngine(index, &http.Transport{TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute}), nil
	}
	if u.Scheme == "file" {
		return sink.NewFolder(filepath.FromSlash(u.Path), c)
	}
	origin, err := sink.Origin(vfs.Default, folder)
	if err != nil {
		return nil, err
	}
	server := *u
	server.Path, server.RawQuery = "", ""
	options := []nats.Option{nats.Name("freshet"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1)}
	if file := u.Query().Get("credentials"); file != "" {
		options = append(options, nats.UserCredentials(file))
	}
	conn, err := nats.Connect(server.String(), options...)
	if err != nil {
		return nil, err
	}
	return sink.NewStream(conn, strings.Trim(u.Path, "/"), crawl, origin, c)
}

// hand delivers the texts of a crawl to the sinks until the publisher's end.
func (p *publisher) hand(engine *node.Node, uses []consent.Use) error {
	sinks := []*sink.Sink{}
	for _, u := range p.settings.sinks.urls {
		bare := *u
		bare.User, bare.RawQuery = nil, ""
		name := sha256.Sum256([]byte(bare.String()))
		folder := filepath.Join(p.dir, "sinks", p.crawl, hex.EncodeToString(name[:8]))
		to, err := target(u, p.crawl, folder, p.clock)
		if err != nil {
			return fmt.Errorf("--sink %s: %w", bare.String(), err)
		}
		p.targets = append(p.targets, to)
		one, err := sink.New(sink.Options{
			Name: bare.String(), Target: to, Store: engine.Store(), Bell: &p.bell, Clock: p.clock, Logger: p.logger,
			FS: vfs.Default, Dir: folder, Uses: uses, Rest: engine.Consumer(bare.String()),
		})
		if err != nil {
			return err
		}
		sinks = append(sinks, one)
	}
	p.sinks.Store(&sinks)
	for _, one := range sinks {
		p.running.Go(func() {
			if err := one.Run(p.ctx); err != nil {
				p.logger.Error("a sink is stopped until the next start", "sink", one.Name(), "error", err)
			}
		})
	}
	return nil
}

// handed returns the sinks.
func (p *publisher) handed() []*sink.Sink {
	if sinks := p.sinks.Load(); sinks != nil {
		return *sinks
	}
	return nil
}

// lastHand is how long an ended crawl waits for its webhooks, and for its sinks.
const lastHand = time.Minute

// handRest delivers the remaining texts at the end of the crawl. A sink that is too slow gets them in the next run.
func (p *publisher) handRest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastHand)
	defer cancel()
	sinks := p.handed()
	faults := make([]error, len(sinks))
	var handing sync.WaitGroup
	for i, one := range sinks {
		handing.Go(func() {
			if faults[i] = one.CatchUp(ctx); ctx.Err() != nil {
				p.logger.Warn("a sink has not received everything: the next run continues", "sink", one.Name())
			}
		})
	}
	handing.Wait()
	return errors.Join(faults...)
}
