package live

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/feed/broadcast"
)

// begin lets a small web be crawled and its feed run, in the bubble of t; end stops both.
func begin(t *testing.T) (l *live, feed *broadcast.Server, end func()) {
	l = open(t, audience{sites: 4, pages: 60, queue: 20_000})
	endCrawl := l.crawl()
	l.pass(2 * day)
	feed, endFeed := l.feed(0)
	return l, feed, func() {
		endCrawl()
		endFeed()
		l.close()
	}
}

// A mischief is a client that means harm, or is broken. It goes on until ctx ends.
type mischief func(ctx context.Context, l *live)

// request writes a subscription by hand and returns the connection, unread.
func (l *live) request(ctx context.Context, subscription string) (net.Conn, error) {
	conn, err := l.dial(ctx, "tcp", l.at)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "POST /feed/stream HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", l.at, len(subscription), subscription)
	return conn, err
}

// repeat connects with a subscription, takes that many bytes, waits, and does it again.
func repeat(subscription string, bytes int, wait time.Duration) mischief {
	return func(ctx context.Context, l *live) {
		for ctx.Err() == nil {
			conn, err := l.request(ctx, subscription)
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for range bytes {
				if _, err := in.ReadByte(); err != nil {
					break
				}
			}
			_ = l.clock.Sleep(ctx, l.clock.Span(wait))
			conn.Close()
		}
	}
}

// lags returns the longest time from a page's capture to the mirrors in a day, the sum of these times, and how often
// the feed passed over clients.
func lags(t *testing.T, harm mischief) (longest, sum time.Duration, pages int, over int64) {
	synctest.Test(t, func(t *testing.T) {
		l, feed, end := begin(t)
		var all broadcast.Interest
		for range 4 {
			l.mirrors = append(l.mirrors, l.listen(all, false))
		}
		for _, m := range l.mirrors {
			for _, home := range l.web.Homes() {
				m.wants[home.Site()] = true
			}
		}
		l.await("all mirrors are whole", func() bool { return l.lacking() == 0 })
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		if harm != nil {
			for range 5 {
				running.Go(func() { harm(ctx, l) })
			}
		}
		l.pass(day)
		for _, m := range l.mirrors {
			m.timed = true
		}
		l.pass(day)
		cancel()
		running.Wait()
		if totals, err := feed.Totals(context.Background()); err != nil {
			t.Error(err)
		} else {
			over = totals.PassedOver
		}
		for _, m := range l.mirrors {
			longest, sum, pages = max(longest, m.longest), sum+m.lag, pages+m.arrivals
			m.stop()
		}
		end()
	})
	return longest, sum, pages, over
}

// TestNobodyIsSlowed holds that bad clients delay no page of another client: in simulated time, to the second. The bad
// clients stop reading, take everything forever, or lie about what they have.
func TestNobodyIsSlowed(t *testing.T) {
	// The server looks at the log every 200 ms of the machine's time, and pages come in between at any moment.
	const look = 17280 * 200 * time.Millisecond
	longest, sum, pages, _ := lags(t, nil)
	t.Logf("alone: %d pages, at most %v, %v on average", pages, longest, sum/time.Duration(pages))
	if longest > look {
		t.Errorf("a page took %v, and there are %v between two looks", longest, look)
	}
	for name, harm := range map[string]mischief{
		"stops reading":       repeat("{}", 0, 25*time.Second),
		"reads a little":      repeat("{}", 2000, 10*time.Second),
		"asks for everything": repeat(`{"download":true}`, 20_000, time.Second),
		"lies":                repeat(`{"have":{"http://`+strings.Repeat("x", 100)+`.test/":"00"}}`, 1000, time.Second),
		"asks for each page":  repeat(`{"patterns":["http*a*e*i*o*u*"]}`, 5000, time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			most, all, n, over := lags(t, harm)
			t.Logf("%d pages, at most %v, %v on average; %d times somebody was passed over", n, most, all/time.Duration(n), over)
			if most > look {
				t.Errorf("a page took %v, and there are %v between two looks", most, look)
			}
			if name == "stops reading" && over == 0 {
				t.Error("nobody was passed over")
			}
		})
	}
}

// TestLease holds that the feed lets a silent client go when its lease ends. A client that it hears of stays. Neither
// client reads.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, feed, end := begin(t)
		count := func() int {
			totals, err := feed.Totals(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return totals.Subscribers
		}
		var sessions []string
		var open []net.Conn
		for range 2 {
			conn, err := l.request(t.Context(), "{}")
			if err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			hello, err := broadcast.ReadFrame(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			sessions, open = append(sessions, hello.Hello.Session), append(open, conn)
			go func() { // takes all that comes
				for {
					if _, err := in.ReadByte(); err != nil {
						return
					}
				}
			}()
		}
		client := l.reach()
		for range 8 {
			response, err := client.Post("http://"+l.at+"/feed/alive?session="+sessions[1], "application/json", nil)
			if err != nil || response.StatusCode != http.StatusNoContent {
				t.Errorf("a sign of life: %v, %v", response, err)
			}
			response.Body.Close()
			l.pass(l.clock.Span(15 * time.Second))
		}
		if n := count(); n != 1 {
			t.Errorf("%d clients are left after two minutes: want the one that was heard of", n)
		}
		response, err := client.Post("http://"+l.at+"/feed/alive?session="+sessions[0], "application/json", nil)
		if err != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("a sign of life of who was let go: %v, %v", response, err)
		}
		response.Body.Close()
		client.CloseIdleConnections()
		for _, conn := range open {
			conn.Close()
		}
		end()
	})
}
