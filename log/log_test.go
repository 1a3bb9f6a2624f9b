package log

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"

	"freshet/weburl"
)

// TestSeal holds that an entry opens behind the place it was sealed for, and behind no other.
func TestSeal(t *testing.T) {
	e := Entry{Owner: "one", Taken: true, Data: []byte("records")}
	data, chain, err := Seal(Place{}, e)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(Place{}, 7, data)
	if err != nil {
		t.Fatal(err)
	}
	if r.At != (Place{7, chain}) || r.Owner != e.Owner || !r.Taken || !bytes.Equal(r.Data, e.Data) {
		t.Errorf("%+v opens as %+v", e, r)
	}
	if _, err := Open(Place{Seq: 6, Chain: chain}, 7, data); !errors.Is(err, ErrBroken) {
		t.Errorf("behind another place: %v, want ErrBroken", err)
	}
	if _, _, err := Seal(Place{}, Entry{Data: make([]byte, MaxEntry)}); err == nil {
		t.Error("an entry larger than MaxEntry is sealed")
	}
}

// ends is a log of one partition in memory.
type ends struct {
	Log
	entries []Entry
}

func (l *ends) Append(_ context.Context, _ weburl.Partition, after Place, e Entry) (Place, error) {
	if after.Seq != uint64(len(l.entries)) {
		return after, ErrDeposed
	}
	_, chain, err := Seal(after, e)
	if err == nil {
		l.entries = append(l.entries, e)
	}
	return Place{after.Seq + 1, chain}, err
}

// TestAppendData holds that a reader gets data of any length as they were appended. A part is not data if its owner
// was deposed before the end.
func TestAppendData(t *testing.T) {
	l := &ends{}
	place := Place{}
	var want [][]byte
	for _, size := range []int{1, MaxData - 1, MaxData, MaxData + 1, 3*MaxData + 5, 2 * MaxData} {
		data := bytes.Repeat([]byte{byte(size)}, size)
		want = append(want, data)
		var err error
		if place, err = AppendData(t.Context(), l, 0, place, "one", data, MaxData); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []Entry{{Owner: "one", Data: []byte("a part"), More: true}, {Owner: "two", Taken: true}, {Owner: "two", Data: []byte("whole")}} {
		var err error
		if place, err = l.Append(t.Context(), 0, place, e); err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, []byte("whole"))
	var got [][]byte
	var j Joined
	for _, e := range l.entries {
		if data, whole := j.Add(e); whole {
			got = append(got, data)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d pieces of data, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("piece %d has %d bytes, want %d, the same", i, len(got[i]), len(want[i]))
		}
	}
}

// stale is a log. Its first read comes from a server that has nothing yet.
type stale struct {
	ends
	places []Place
	read   bool
}

func (l *stale) Append(ctx context.Context, p weburl.Partition, after Place, e Entry) (Place, error) {
	_, chain, err := Seal(after, e)
	at := Place{after.Seq + 1, chain}
	if err == nil && after.Seq < uint64(len(l.places)) && l.places[after.Seq] == at {
		return at, nil // of a try before
	}
	if at, err = l.ends.Append(ctx, p, after, e); err == nil {
		l.places = append(l.places, at)
	}
	return at, err
}

func (l *stale) Read(_ context.Context, _ weburl.Partition, after Place) iter.Seq2[Read, error] {
	return func(yield func(Read, error) bool) {
		for i := after.Seq; l.read && i < uint64(len(l.places)); i++ {
			if !yield(Read{l.places[i], l.entries[i]}, nil) {
				return
			}
		}
		l.read = true
	}
}

// TestTakeAgain has a node take a partition that it took as the first one, before it lost its disk. A server that lags
// behind shows it nothing: it must not take its own old entry for the new one.
func TestTakeAgain(t *testing.T) {
	l := &stale{}
	ignore := func(Read) error { return nil }
	at, err := Take(t.Context(), l, 0, "one", Place{}, ignore)
	if err == nil {
		at, err = l.Append(t.Context(), 0, at, Entry{Owner: "one", Data: []byte("records")})
	}
	if err != nil {
		t.Fatal(err)
	}
	l.read = false
	read := 0
	got, err := Take(t.Context(), l, 0, "one", Place{}, func(Read) error { read++; return nil })
	if err != nil || read != 2 || got.Seq != at.Seq+1 {
		t.Errorf("after %d entries it has the partition at %d, %v: want after 2 at %d", read, got.Seq, err, at.Seq+1)
	}
}

// FuzzOpen holds that Open accepts only sealed bytes, and that no bytes break it.
func FuzzOpen(f *testing.F) {
	data, _, err := Seal(Place{}, Entry{Owner: "one", Data: []byte("records")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Open(Place{}, 1, raw)
		if err != nil {
			return
		}
		again, chain, err := Seal(Place{}, r.Entry)
		if err == nil && chain == r.At.Chain {
			if _, err := Open(Place{}, 1, again); err != nil {
				t.Errorf("sealed again it does not open: %v", err)
			}
		}
	})
}
