package log

import (
	"bytes"
	"errors"
	"testing"
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
