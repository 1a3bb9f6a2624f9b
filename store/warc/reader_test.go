package warc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
)

// file returns the records of capture in a form that files come in, and where each begins.
func file(t testing.TB, form string) (data []byte, starts []int64) {
	t.Helper()
	e := NewEncoder(FastLevel)
	for _, r := range capture() {
		starts = append(starts, int64(len(data)))
		if form != "members" {
			data = append(data, plain(t, r)...)
			continue
		}
		var err error
		if data, err = e.AppendMember(data, r); err != nil {
			t.Fatal(err)
		}
	}
	if form == "one member" {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(data)
		w.Close()
		data, starts = z.Bytes(), make([]int64, len(starts))
	}
	return data, starts
}

func TestReader(t *testing.T) {
	for _, form := range []string{"members", "plain", "one member"} {
		t.Run(form, func(t *testing.T) {
			data, starts := file(t, form)
			fs := vfs.NewMem()
			writeFile(t, fs, "f.warc", data)
			r, err := Open(fs, "f.warc")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for i, want := range capture() {
				got, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				want.Seal()
				got.Block, err = io.ReadAll(r)
				if diff := cmp.Diff(want, got, cmpRecords...); diff != "" || err != nil {
					t.Errorf("record %d (-want +got):\n%s%v", i, diff, err)
				}
				length, err := r.Finish()
				if err != nil || r.Offset() != starts[i] {
					t.Fatalf("record %d at %d, %v; want %d", i, r.Offset(), err, starts[i])
				}
				if form == "one member" {
					if length != 0 {
						t.Errorf("record %d: length %d in a shared member, want 0", i, length)
					}
					continue
				}
				again, err := ReadAt(fs, "", Pointer{"f.warc", starts[i], length})
				if diff := cmp.Diff(got, again, cmpRecords...); diff != "" || err != nil {
					t.Errorf("ReadAt (-want +got):\n%s%v", diff, err)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("after the last record: %v, want io.EOF", err)
			}
		})
	}
}

func TestReaderSkips(t *testing.T) {
	data, _ := file(t, "members")
	r := NewReader(bytes.NewReader(data), "f")
	var types []Type
	for {
		record, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, record.Type)
		r.Read(make([]byte, 3))
	}
	if diff := cmp.Diff([]Type{Warcinfo, Response, Request, Metadata, Revisit, Revisit, Response}, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func TestReaderForeign(t *testing.T) {
	const in = "WARC/1.0\nWARC-Type: response\nwarc-target-uri: <http://a.example/x>\n" +
		"WARC-Date: 2016\nWARC-Record-ID: <urn:x:1>\nWARC-Payload-Digest: sha256:00ff\n" +
		"WARC-Concurrent-To: <urn:uuid:00000000-0000-5000-8000-000000000001>\n" +
		"WARC-Concurrent-To: <urn:uuid:00000000-0000-5000-8000-000000000002>\n" +
		"X-Long: one\n  two\ncontent-length: 2\n\nok\r\n\r\n"
	got, err := decode([]byte(in), Pointer{File: "member"})
	if err != nil {
		t.Fatal(err)
	}
	want := &Record{
		Type: Response, TargetURI: "http://a.example/x", Block: []byte("ok"), Length: 2,
		ConcurrentTo: ID{6: 0x50, 8: 0x80, 15: 1},
		Fields: []Field{
			{"WARC-Date", "2016"}, {"WARC-Record-ID", "<urn:x:1>"}, {"WARC-Payload-Digest", "sha256:00ff"},
			{"WARC-Concurrent-To", "<urn:uuid:00000000-0000-5000-8000-000000000002>"}, {"X-Long", "one two"},
		},
	}
	if diff := cmp.Diff(want, got, cmpRecords...); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := NewEncoder(FastLevel).AppendMember(nil, capture()[1])
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-7] ^= 1 // the checksum
	tests := []struct {
		name, member string
		torn         bool
	}{
		{"nothing", "", true},
		{"not WARC", "HTTP/1.1 200 OK\r\n\r\n", false},
		{"no header", "WARC/1.1\r\n", true},
		{"half a line", "WARC/1.1\r\nWARC-Ty", true},
		{"no length", "WARC/1.1\r\nWARC-Type: x\r\n\r\n\r\n\r\n", false},
		{"two lengths", "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n\r\n\r\n", false},
		{"negative length", "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: -1\r\n\r\n\r\n\r\n", false},
		{"long block", "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 9000000000000000000\r\n\r\n", false},
		{"block longer than the member", "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 100000000\r\n\r\nabc", true},
		{"no type", "WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n", false},
		{"block too long for its length", "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 1\r\n\r\nabcdefgh", false},
		{"no end", "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 1\r\n\r\na\r\n", true},
		{"control character", "WARC/1.1\r\nWARC-Type: x\x01\r\nContent-Length: 0\r\n\r\n\r\n\r\n", false},
		{"line without a colon", "WARC/1.1\r\nWARC-Type: x\r\nfoo\r\nContent-Length: 0\r\n\r\n\r\n\r\n", false},
		{"continues nothing", "WARC/1.1\r\n  x\r\nContent-Length: 0\r\n\r\n\r\n\r\n", false},
		{"endless line", "WARC/1.1\r\nX: " + strings.Repeat("x", maxHeader+10), false},
		{"endless header", "WARC/1.1\r\n" + strings.Repeat("X: y\r\n", 2*maxFields), false},
		{"torn member", string(good[:len(good)-9]), true},
		{"torn checksum", string(good[:len(good)-1]), true},
		{"wrong checksum", string(flipped), false},
		{"two members", string(good) + string(good), false},
		{"more bytes", string(good) + "\x00", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode([]byte(tt.member), Pointer{File: "member"})
			e, ok := errors.AsType[*Error](err)
			if !ok || !errors.Is(err, ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) != tt.torn {
				t.Errorf("error %v; want an *Error, corrupt, torn: %v", err, tt.torn)
			} else if e.Offset != 0 || e.File != "member" {
				t.Errorf("error at %s %d", e.File, e.Offset)
			}
		})
	}
}

func TestReadMemberRefuses(t *testing.T) {
	fs := vfs.NewMem()
	writeFile(t, fs, "f", []byte("0123456789"))
	for _, p := range []Pointer{{"f", 0, 11}, {"f", 5, 6}, {"f", -1, 2}, {"f", 0, 0}, {"f", 0, -1}, {"f", 1 << 62, 1 << 62}, {"f", 3, 1<<63 - 1}} {
		if _, err := ReadMember(nil, fs, "", p); !errors.Is(err, ErrCorrupt) {
			t.Errorf("ReadMember(%v) = %v, want ErrCorrupt", p, err)
		}
	}
	if _, err := ReadMember(nil, fs, "", Pointer{"g", 0, 1}); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrCorrupt) {
		t.Errorf("no such file: %v", err)
	}
	got, err := ReadMember([]byte("a"), fs, "", Pointer{"f", 9, 1})
	if string(got) != "a9" || err != nil {
		t.Errorf("ReadMember = %q, %v", got, err)
	}
}

// failing gives some bytes, then an error of the disk.
type failing struct{ in io.Reader }

var errDisk = errors.New("disk on fire")

func (f failing) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	if err == io.EOF {
		err = errDisk
	}
	return n, err
}

func TestReaderTellsDiskFromFormat(t *testing.T) {
	data, _ := file(t, "members")
	for _, n := range []int{0, 1, 5, 100, len(data) - 1, len(data)} {
		r := NewReader(failing{bytes.NewReader(data[:n])}, "f")
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, errDisk) || errors.Is(err, ErrCorrupt) {
			t.Errorf("after %d bytes: %v, want the disk's error alone", n, err)
		}
	}
}

// FuzzReader holds that no input makes the reader panic or loop. Every record that it returns is readable by its
// offset and length.
func FuzzReader(f *testing.F) {
	for _, form := range []string{"members", "plain", "one member"} {
		data, _ := file(f, form)
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data), "f")
		for {
			record, err := r.Next()
			if err != nil {
				if err != io.EOF && !errors.Is(err, ErrCorrupt) {
					t.Fatalf("error %v, want ErrCorrupt", err)
				}
				return
			}
			length, err := r.Finish()
			if err != nil || length == 0 || record.Length > 1<<20 {
				continue
			}
			again, err := decode(data[r.Offset():][:length], Pointer{File: "member"})
			if err != nil || again.Length != record.Length || again.Type != record.Type {
				t.Fatalf("record at %d, %d bytes: read alone: %v, %v", r.Offset(), length, again, err)
			}
		}
	})
}

func writeFile(t testing.TB, fs vfs.FS, path string, data []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(bytes.Clone(data))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
