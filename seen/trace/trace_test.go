package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"freshet/weburl"
)

var texts = []string{"http://a.test/", "http://a.test/b?c", "http://a.test/", "https://b.test/ä"}

func parse(t *testing.T, text string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func read(t *testing.T, file string) []weburl.Fingerprint {
	t.Helper()
	r, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	trace, err := r.All()
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// TestWriteAndRead writes a trace of each form in two parts and reads it back.
func TestWriteAndRead(t *testing.T) {
	for _, name := range []string{"urls", "urls.gz", "urls.zst", "t.u64", "t.u64.gz", "t.u64.zst"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			var want []weburl.Fingerprint
			for range 2 {
				w, err := Create(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range texts {
					u := parse(t, text)
					w.Add(u)
					want = append(want, u.Fingerprint())
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := read(t, file); !slices.Equal(got, want) {
				t.Errorf("read %v, want %v", got, want)
			}
		})
	}
}

func TestLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "urls")
	if err := os.WriteFile(file, []byte("HTTP://A.test\r\n\n  http://a.test/#part\nhttp://a.test/b"), 0o666); err != nil {
		t.Fatal(err)
	}
	a, b := parse(t, "http://a.test/").Fingerprint(), parse(t, "http://a.test/b").Fingerprint()
	if got, want := read(t, file), []weburl.Fingerprint{a, a, b}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestNoFingerprintIsZero(t *testing.T) {
	r, err := NewReader(bytes.NewReader(make([]byte, 16)), "zeros.u64")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.All(); err != nil || !slices.Equal(got, []weburl.Fingerprint{1, 1}) {
		t.Errorf("read %v, error %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"urls", "http://a.test/\n\nnonsense\n", "trace: urls:3: "},
		{"urls", "http://a.test/\n" + strings.Repeat("x", maxLine+1), "trace: urls:2: bufio.Scanner: token too long"},
		{"t.u64", "12345678abc", "trace: t.u64: offset 8: 3 bytes are left: want fingerprints of 8"},
		{"urls.gz", "plain", "trace: urls.gz: unexpected EOF"},
		{"urls.gz", "plain text that is longer", "trace: urls.gz: gzip: invalid header"},
		{"urls.gz", "", "trace: urls.gz: unexpected EOF"},
		{"t.u64.zst", "plain text that is longer", "trace: t.u64.zst: offset 0: "},
	} {
		r, err := NewReader(strings.NewReader(test.content), test.name)
		if err == nil {
			_, err = r.All()
			r.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s of %.20q: %v, want %s", test.name, test.content, err, test.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

// TestTornTail cuts a trace in the middle of a fingerprint. It continues with whole ones.
func TestTornTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.u64")
	torn := append(binary.LittleEndian.AppendUint64(nil, 7), 1, 2, 3)
	if err := os.WriteFile(file, torn, 0o666); err != nil {
		t.Fatal(err)
	}
	w, err := Create(file)
	if err != nil {
		t.Fatal(err)
	}
	u := parse(t, texts[0])
	w.Add(u)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, file), []weburl.Fingerprint{7, u.Fingerprint()}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriterKeepsItsError(t *testing.T) {
	for _, name := range []string{"urls", "urls.gz", "t.u64.zst"} {
		w := NewWriter(full{}, name)
		for range 100_000 {
			w.Add(parse(t, texts[0]))
		}
		if err := w.Close(); err == nil || err.Error() != "trace: "+name+": no space" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, name := range []string{"urls", "t.u64", "t.u64.gz", "urls.zst"} {
		var b bytes.Buffer
		w := NewWriter(&b, name)
		w.Add(weburl.URL{})
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(name, b.Bytes())
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		r, err := NewReader(bytes.NewReader(content), name)
		if err != nil {
			return
		}
		defer r.Close()
		for range 1 << 16 {
			fp, err := r.Next()
			if err != nil {
				if err != io.EOF && !strings.HasPrefix(err.Error(), "trace: "+name) {
					t.Fatalf("error %v does not name %q", err, name)
				}
				return
			}
			if fp == 0 {
				t.Fatal("a fingerprint of 0")
			}
		}
	})
}
