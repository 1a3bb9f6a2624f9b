package log

import (
	"bytes"
	"context"
	"errors"
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

// TestAppendData holds that data of any length are read as they were appended, and that a part whose owner was deposed
// is not taken for data.
func TestAppendData(t *testing.T) {
	l := &ends{}
	place := Place{}
	var want [][]byte
	for _, size := range []int{1, maxData - 1, maxData, maxData + 1, 3*maxData + 5, 2 * maxData} {
		data := bytes.Repeat([]byte{byte(size)}, size)
		want = append(want, data)
		var err error
		if place, err = AppendData(t.Context(), l, 0, place, "one", data); err != nil {
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

// FuzzOpen holds that no bytes but those that were sealed open, and that none of them break the reader.
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
