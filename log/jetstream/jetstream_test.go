package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"freshet/clock"
	"freshet/internal/broker"
	"freshet/log"
	"freshet/weburl"
)

// opened returns a log on a server of the test's own.
func opened(t *testing.T, partitions, streams int) (context.Context, *Log) {
	t.Helper()
	conn, err := nats.Connect(broker.JetStream(t).ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	l, err := Open(ctx, conn, Options{Cluster: "test", Partitions: partitions, Streams: streams, Replicas: 1}, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	return ctx, l
}

// all reads the entries behind a place.
func all(ctx context.Context, t *testing.T, l *Log, p weburl.Partition, after log.Place) (texts []string, end log.Place) {
	t.Helper()
	end = after
	for r, err := range l.Read(ctx, p, after) {
		if err != nil {
			t.Fatal(err)
		}
		text := r.Owner + ": " + string(r.Data)
		if r.Taken {
			text = r.Owner + " takes it"
		}
		texts, end = append(texts, text), r.At
	}
	return texts, end
}

// TestLog has two nodes write to a partition. The log refuses the writes of the deposed node. The other node reads
// all.
func TestLog(t *testing.T) {
	ctx, l := opened(t, 4, 2)
	ignore := func(log.Read) error { return nil }
	first, err := log.Take(ctx, l, 2, "one", log.Place{}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 { // more than a batch
		if first, err = l.Append(ctx, 2, first, log.Entry{Owner: "one", Data: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Append(ctx, 0, log.Place{}, log.Entry{Owner: "one", Data: []byte("elsewhere")}); err != nil {
		t.Fatal(err)
	}
	read := 0
	second, err := log.Take(ctx, l, 2, "two", log.Place{}, func(log.Read) error {
		read++
		return nil
	})
	if err != nil || read != 201 {
		t.Fatalf("%d entries are read: %v, want 201", read, err)
	}
	if _, err := l.Append(ctx, 2, first, log.Entry{Owner: "one", Data: []byte("late")}); !errors.Is(err, log.ErrDeposed) {
		t.Errorf("an entry of the node that was deposed: %v, want ErrDeposed", err)
	}
	if second, err = l.Append(ctx, 2, second, log.Entry{Owner: "two", Data: []byte("more")}); err != nil {
		t.Fatal(err)
	}
	texts, end := all(ctx, t, l, 2, first)
	if diff := cmp.Diff([]string{"two takes it", "two: more"}, texts); diff != "" {
		t.Errorf("behind the first node's last entry (-want +got):\n%s", diff)
	}
	if end != second {
		t.Errorf("the end is %v, want %v", end, second)
	}
	if texts, _ := all(ctx, t, l, 0, log.Place{}); len(texts) != 1 {
		t.Errorf("another partition has %q, want one entry", texts)
	}
}

// TestLostLog holds that a node is told what to do if the servers have lost what they acknowledged.
func TestLostLog(t *testing.T) {
	ctx, l := opened(t, 1, 1)
	l.clock = clock.New(time.Unix(1.8e9, 0), 100)
	at, err := log.Take(ctx, l, 0, "one", log.Place{}, func(log.Read) error { return nil })
	if err == nil {
		at, err = l.Append(ctx, 0, at, log.Entry{Owner: "one", Data: []byte("stored")})
	}
	if err == nil {
		err = errors.Join(l.js.DeleteStream(ctx, l.StreamName(0)), l.create(ctx, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Append(ctx, 0, at, log.Entry{Owner: "one", Data: []byte("more")})
	if !errors.Is(err, log.ErrBroken) || !strings.Contains(err.Error(), "start the servers with their files") {
		t.Errorf("%v", err)
	}
}

// TestLogIsGone holds that a node is told what to do if a stream of the log is gone, whether it writes or reads.
func TestLogIsGone(t *testing.T) {
	ctx, l := opened(t, 2, 2)
	l.clock = clock.New(time.Unix(1.8e9, 0), 100)
	at, err := log.Take(ctx, l, 0, "one", log.Place{}, func(log.Read) error { return nil })
	if err == nil {
		err = l.js.DeleteStream(ctx, l.StreamName(0))
	}
	if err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	faults := map[string]error{}
	_, faults["write"] = l.Append(within, 0, at, log.Entry{Owner: "one", Data: []byte("more")})
	faults["read"] = nil
	for _, faults["read"] = range l.Read(within, 0, at) {
	}
	for what, err := range faults {
		if !errors.Is(err, log.ErrBroken) || !strings.Contains(err.Error(), "stream test-log-0 is gone: start the servers with their files") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if texts, _ := all(ctx, t, l, 1, log.Place{}); len(texts) > 0 {
		t.Errorf("the other stream has %q", texts)
	}
}

// TestLargeData holds that data of several entries, each as large as a server takes, are stored and read whole.
func TestLargeData(t *testing.T) {
	ctx, l := opened(t, 1, 1)
	data := bytes.Repeat([]byte("a page"), 600_000)
	if _, err := log.AppendData(ctx, l, 0, log.Place{}, "one", data, log.MaxData); err != nil {
		t.Fatal(err)
	}
	var joined log.Joined
	for r, err := range l.Read(ctx, 0, log.Place{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got, whole := joined.Add(r.Entry); whole && !bytes.Equal(got, data) {
			t.Errorf("%d bytes are read, want %d, the same", len(got), len(data))
		} else if whole {
			return
		}
	}
	t.Error("the data do not end")
}

// TestTruncate truncates a log below a place. The log goes on behind the place, even if the place is its end.
func TestTruncate(t *testing.T) {
	ctx, l := opened(t, 2, 1)
	at := log.Place{}
	var places []log.Place
	for i := range 5 {
		var err error
		if at, err = l.Append(ctx, 1, at, log.Entry{Owner: "one", Data: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
		places = append(places, at)
	}
	if err := l.Truncate(ctx, 1, places[3]); err != nil {
		t.Fatal(err)
	}
	if texts, _ := all(ctx, t, l, 1, places[3]); len(texts) != 1 {
		t.Errorf("behind the place there is %q, want one entry", texts)
	}
	if texts, _ := all(ctx, t, l, 1, places[2]); len(texts) != 2 {
		t.Errorf("behind the place before there is %q, want two entries", texts)
	}
	if err := l.Truncate(ctx, 1, at); err != nil {
		t.Fatal(err)
	}
	for _, behind := range []log.Place{{}, places[1]} {
		for _, err := range l.Read(ctx, 1, behind) {
			if !errors.Is(err, log.ErrTruncated) {
				t.Errorf("behind entry %d, which is gone: %v, want ErrTruncated", behind.Seq, err)
			}
		}
		if _, err := l.Append(ctx, 1, behind, log.Entry{Owner: "two"}); !errors.Is(err, log.ErrDeposed) {
			t.Errorf("an entry of a node that was deposed behind entry %d, which is gone: %v, want ErrDeposed", behind.Seq, err)
		}
	}
	if _, err := l.Append(ctx, 1, at, log.Entry{Owner: "one"}); err != nil {
		t.Error(err)
	}
}

// TestReadAllocatesLittle holds that a look at a log that has nothing new leaves little garbage: a node looks at the
// logs of all others again and again.
func TestReadAllocatesLittle(t *testing.T) {
	ctx, l := opened(t, 1, 1)
	at, err := l.Append(ctx, 0, log.Place{}, log.Entry{Owner: "one"})
	if err != nil {
		t.Fatal(err)
	}
	const looks, most = 100, 64 << 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range looks {
		all(ctx, t, l, 0, at)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / looks; each > most {
		t.Errorf("each look leaves %d bytes, want at most %d, those of the server in this process among them", each, most)
	}
}

// TestReadOfANewStream holds that a read waits for a stream that the asked server does not know of yet.
func TestReadOfANewStream(t *testing.T) {
	ctx, l := opened(t, 1, 1)
	if err := l.js.DeleteStream(ctx, l.StreamName(0)); err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() {
		_ = l.clock.Sleep(ctx, 4*tryAgain)
		made <- l.create(ctx, 0)
	}()
	if texts, _ := all(ctx, t, l, 0, log.Place{}); len(texts) > 0 {
		t.Errorf("a new stream has %q", texts)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
}

// TestBroken holds that a reader gets ErrBroken if it begins at a place of another log.
func TestBroken(t *testing.T) {
	ctx, l := opened(t, 1, 1)
	at := log.Place{}
	for range 2 {
		var err error
		if at, err = l.Append(ctx, 0, at, log.Entry{Owner: "one"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range l.Read(ctx, 0, log.Place{Seq: at.Seq - 1}) {
		if !errors.Is(err, log.ErrBroken) {
			t.Errorf("%v, want ErrBroken", err)
		}
	}
}

// TestRivals has several nodes take a partition again and again and write to it, all at once. The log has exactly the
// acknowledged entries. Each entry comes from the node that had taken the partition last.
func TestRivals(t *testing.T) {
	ctx, l := opened(t, 1, 1)
	var mu sync.Mutex
	acked := map[uint64]log.Chain{}
	var nodes sync.WaitGroup
	for n := range 3 {
		nodes.Go(func() {
			name := fmt.Sprint(n)
			end := log.Place{}
			for range 20 {
				at, err := log.Take(ctx, l, 0, name, end, func(r log.Read) error {
					end = r.At
					return nil
				})
				for i := 0; err == nil && i < 5; i++ {
					end = at
					mu.Lock()
					acked[at.Seq] = at.Chain
					mu.Unlock()
					at, err = l.Append(ctx, 0, at, log.Entry{Owner: name, Data: fmt.Append(nil, i)})
				}
				if err == nil {
					end = at
					mu.Lock()
					acked[at.Seq] = at.Chain
					mu.Unlock()
				} else if !errors.Is(err, log.ErrDeposed) {
					t.Error(err)
				}
			}
		})
	}
	nodes.Wait()
	stored := map[uint64]log.Chain{}
	owner := ""
	for r, err := range l.Read(ctx, 0, log.Place{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Taken {
			owner = r.Owner
		}
		if r.Owner != owner {
			t.Errorf("entry %d is of %s, the owner is %s", r.At.Seq, r.Owner, owner)
		}
		stored[r.At.Seq] = r.At.Chain
	}
	if diff := cmp.Diff(acked, stored); diff != "" {
		t.Errorf("stored (-acknowledged +stored):\n%s", diff)
	}
}

// TestAnswerIsLookedForAgain holds that a node whose entry is stored, and whose answer was lost, looks for it until a
// server can say whose the entry is: while the servers elect a leader, some do not know.
func TestAnswerIsLookedForAgain(t *testing.T) {
	ctx, l := opened(t, 1, 1)
	servers := l.conn
	between, err := nats.Connect(broker.Start(t, server.Options{}).ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(between.Close)
	asked := 0
	_, err = between.Subscribe("$JS.API.DIRECT.GET.>", func(m *nats.Msg) {
		if asked++; asked == 1 {
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"503"}}})
			return
		}
		inbox := servers.NewRespInbox()
		_, err := servers.Subscribe(inbox, func(answer *nats.Msg) {
			_ = m.RespondMsg(&nats.Msg{Header: answer.Header, Data: answer.Data})
		})
		if err == nil {
			err = servers.PublishRequest(m.Subject, inbox, m.Data)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e := log.Entry{Owner: "one", Data: []byte("an entry")}
	want, err := l.Append(ctx, 0, log.Place{}, e)
	if err != nil {
		t.Fatal(err)
	}
	l.conn = between
	if got, err := l.Append(ctx, 0, log.Place{}, e); err != nil || got != want {
		t.Errorf("the entry at %v is stored at %v: %v", want, got, err)
	}
}
