package warc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

func index(t testing.TB, fs vfs.FS, paths ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Index(&out, IndexOptions{FS: fs, Temp: "temp"}, paths...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestIndexGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/capture.warc")
	if err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMem()
	writeFile(t, fs, "capture.warc", data)
	golden(t, "capture.cdxj", []byte(index(t, fs, "capture.warc")))
}

func TestIndexFields(t *testing.T) {
	response := func(head string) *Record {
		return &Record{Type: Response, Date: at, TargetURI: "http://a.example/", ContentType: TypeResponse, Block: []byte(head)}
	}
	digest := DigestOf(nil)
	tests := []struct {
		name   string
		record *Record
		want   string // up to length; empty: no line
	}{
		{"response", response("HTTP/1.1 200 OK\r\nContent-Type: Text/HTML ; charset=x\r\n\r\n"),
			`example,a)/ 20260304050607 {"url":"http://a.example/","mime":"Text/HTML","status":"200",`},
		{"no type", response("HTTP/1.1 404\r\nA: b\r\n\r\n"), `example,a)/ 20260304050607 {"url":"http://a.example/","status":"404",`},
		{"not HTTP", response("gopher"), `example,a)/ 20260304050607 {"url":"http://a.example/",`},
		{"quotes and controls", response("HTTP/1.1 200 OK\r\nContent-Type: a\"\\/\t<é\x02\xff>\r\n\r\n"),
			`example,a)/ 20260304050607 {"url":"http://a.example/","mime":"a\"\\/\u0009<é\u0002` + "\ufffd" + `>","status":"200",`},
		{"digest", &Record{Type: Revisit, Date: at, TargetURI: "http://a.example/", PayloadDigest: digest, Block: []byte("HTTP/1.1 304 Not Modified\r\nA: b\r\n\r\n")},
			`example,a)/ 20260304050607 {"url":"http://a.example/","mime":"warc/revisit","status":"304","digest":"` + digest.String()[5:] + `",`},
		{"revisit without a block", &Record{Type: Revisit, Date: at, TargetURI: "http://a.example/"}, `example,a)/ 20260304050607 {"url":"http://a.example/","mime":"warc/revisit",`},
		{"another's digest and date", &Record{Type: "resource", TargetURI: "http://a.example/", ContentType: "image/png", Fields: []Field{{"WARC-Date", "2016-02"}, {"WARC-Payload-Digest", "sha256:0a"}}},
			`example,a)/ 201602 {"url":"http://a.example/","mime":"image/png","digest":"0a",`},
		{"no web address", &Record{Type: "resource", Date: at, TargetURI: "urn:a b", ContentType: "text/plain"}, `urn:a%20b 20260304050607 {"url":"urn:a b","mime":"text/plain",`},
		{"metadata in another form", &Record{Type: Metadata, Date: at, TargetURI: "http://a.example/", ContentType: "application/json"}, `example,a)/ 20260304050607 {"url":"http://a.example/","mime":"application/json",`},
		{"metadata", &Record{Type: Metadata, Date: at, TargetURI: "http://a.example/", ContentType: TypeFields}, ""},
		{"request", &Record{Type: Request, Date: at, TargetURI: "http://a.example/"}, ""},
		{"warcinfo", &Record{Type: Warcinfo, Date: at}, ""},
		{"no target", &Record{Type: Response, Date: at}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := NewEncoder(FastLevel).AppendMember(nil, tt.record)
			if err != nil {
				t.Fatal(err)
			}
			fs := vfs.NewMem()
			writeFile(t, fs, "f.warc.gz", data)
			want := tt.want
			if want != "" {
				want += fmt.Sprintf(`"length":"%d","offset":"0","filename":"f.warc.gz"}`+"\n", len(data))
			}
			got := index(t, fs, "f.warc.gz")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, object, ok := strings.Cut(got, " {"); ok && !json.Valid([]byte("{"+object)) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
}

// TestIndexSorts holds that files, buffers and runs make no difference to an index.
func TestIndexSorts(t *testing.T) {
	fs := vfs.NewMem()
	random := rand.New(rand.NewPCG(2, 2))
	var paths []string
	for f := range 5 {
		var data []byte
		e := NewEncoder(FastLevel)
		for range 60 {
			var err error
			data, err = e.AppendMember(data, &Record{
				Type: Response, Date: at.Add(time.Duration(random.IntN(100)) * time.Hour), ContentType: TypeResponse,
				TargetURI: fmt.Sprintf("http://%c.example/%d", 'a'+random.IntN(3), random.IntN(20)), Block: []byte("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		paths = append(paths, fmt.Sprintf("%d.warc.gz", f))
		writeFile(t, fs, paths[f], data)
	}
	want := index(t, fs, paths...)
	lines := strings.SplitAfter(want, "\n")
	if lines = lines[:len(lines)-1]; len(lines) != 300 || !slices.IsSorted(lines) {
		t.Fatalf("%d lines, sorted: %v; want 300", len(lines), slices.IsSorted(lines))
	}
	slices.Reverse(paths)
	for _, buffer := range []int{1, 500, 10_000} {
		var got bytes.Buffer
		if err := Index(&got, IndexOptions{FS: fs, Temp: "temp", BufferBytes: buffer}, paths...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("buffer of %d bytes (-want +got):\n%s", buffer, diff)
		}
		if left, _ := fs.List("temp"); len(left) != 0 {
			t.Errorf("buffer of %d bytes: files %v are left", buffer, left)
		}
	}
}

func TestIndexOpenAndBroken(t *testing.T) {
	fs := vfs.NewMem()
	data, starts := file(t, "members")
	torn := data[:starts[2]+3]
	writeFile(t, fs, "f.warc.gz.open", torn)
	writeFile(t, fs, "g.warc.gz", torn)
	one, _ := file(t, "one member")
	writeFile(t, fs, "h.warc.gz", one)

	got := index(t, fs, "f.warc.gz.open")
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, `"filename":"f.warc.gz"`) {
		t.Errorf("open file: %q; want one line under the name without the suffix", got)
	}
	for _, name := range []string{"g.warc.gz", "h.warc.gz"} {
		err := Index(&bytes.Buffer{}, IndexOptions{FS: fs, Temp: "temp", BufferBytes: 1}, name)
		if e, ok := errors.AsType[*Error](err); !ok || e.File != name || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	if left, _ := fs.List("temp"); len(left) != 0 {
		t.Errorf("files %v are left", left)
	}
}
