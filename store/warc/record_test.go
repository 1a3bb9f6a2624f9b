package warc

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

var at = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

const page = "<!doctype html>\n<title>A page</title>\n<a href=/next>next</a>\n"

// capture returns the records that a crawl writes for a page: two fetches, then a conditional one.
func capture() []*Record {
	const target = "http://www.example.org/a?z=1&b=2"
	address := netip.MustParseAddr("192.0.2.7")
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(page))
	info, _ := AppendFields(nil, []Field{{"software", "freshet/1"}, {"operator", "Archive <mail@example.org>"}, {"robots", "obey"}})
	facts, _ := AppendFields(nil, []Field{{"fetchTimeMs", "123"}, {"hopsFromSeed", "L"}})

	response := &Record{
		Type: Response, Date: at, TargetURI: target, Address: address, ContentType: TypeResponse,
		PayloadDigest: DigestOf([]byte(page)), Block: []byte(head + page),
	}
	response.Seal()
	identical := &Record{
		Type: Revisit, Date: at.Add(time.Hour), TargetURI: target, Address: address, ContentType: TypeResponse,
		Profile: ProfileIdentical, RefersTo: response.ID, RefersToURI: target, RefersToDate: at,
		PayloadDigest: response.PayloadDigest, Block: []byte(head),
	}
	unchanged := &Record{
		Type: Revisit, Date: at.Add(2 * time.Hour), TargetURI: target, Address: address, ContentType: TypeResponse,
		Profile: ProfileNotModified, RefersTo: response.ID, RefersToURI: target, RefersToDate: at,
		PayloadDigest: response.PayloadDigest, Block: []byte("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"),
	}
	return []*Record{
		{Type: Warcinfo, Date: at, Filename: "capture.warc", ContentType: TypeFields, Block: info},
		response,
		{
			Type: Request, Date: at, TargetURI: target, ConcurrentTo: response.ID, ContentType: TypeRequest,
			Block: []byte("GET /a?z=1&b=2 HTTP/1.1\r\nHost: www.example.org\r\n\r\n"),
		},
		{Type: Metadata, Date: at, TargetURI: target, ConcurrentTo: response.ID, ContentType: TypeFields, Block: facts},
		identical,
		unchanged,
		{
			Type: Response, Date: at.Add(3 * time.Hour), TargetURI: "https://example.net:8443/big", ContentType: TypeResponse,
			Address: netip.MustParseAddr("2001:db8::1"), Truncated: TruncatedLength, Block: []byte("HTTP/1.1 200 OK\r\n\r\nbeginning"),
		},
	}
}

// golden compares got with a file of testdata, or writes it there.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile("testdata/"+name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// plain returns the bytes of a record in an uncompressed file.
func plain(t testing.TB, r *Record) []byte {
	t.Helper()
	member, err := NewEncoder(FastLevel).AppendMember(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return inflated(t, member)
}

// inflated returns the content of a gzip member.
func inflated(t testing.TB, member []byte) []byte {
	t.Helper()
	in, err := gzip.NewReader(bytes.NewReader(member))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAppendMemberGolden(t *testing.T) {
	var got []byte
	for _, r := range capture() {
		got = append(got, plain(t, r)...)
	}
	golden(t, "capture.warc", got)
}

func TestAppendMemberDecodes(t *testing.T) {
	for _, level := range []int{0, FastLevel, 6, 9} {
		e := NewEncoder(level)
		for _, want := range capture() {
			dst, err := e.AppendMember([]byte("before"), want)
			if err != nil {
				t.Fatal(err)
			}
			member, ok := bytes.CutPrefix(dst, []byte("before"))
			if !ok {
				t.Fatalf("level %d: AppendMember overwrote dst", level)
			}
			got, err := decode(member, Pointer{File: "member"})
			if err != nil {
				t.Fatal(err)
			}
			want.Seal()
			if diff := cmp.Diff(want, got, cmpRecords...); diff != "" {
				t.Errorf("level %d: decoded (-want +got):\n%s", level, diff)
			}
		}
	}
}

var cmpRecords = cmp.Options{
	cmpopts.IgnoreFields(Record{}, "Length"),
	cmpopts.EquateComparable(netip.Addr{}),
	cmpopts.EquateEmpty(),
}

func TestSealNamesRecords(t *testing.T) {
	base := Record{Type: Response, Date: at, TargetURI: "http://a.example/", Block: []byte("x")}
	id := func(change func(*Record)) ID {
		r := base
		change(&r)
		r.Seal()
		return r.ID
	}
	same := id(func(*Record) {})
	if same != id(func(r *Record) { r.Date = r.Date.Add(time.Microsecond).In(time.FixedZone("", 3600)) }) {
		t.Error("zone or microseconds change the ID: they are not written")
	}
	if s := same.String(); s[24] != '5' || !strings.ContainsRune("89ab", rune(s[29])) {
		t.Errorf("ID %s: want a version 5 UUID", s)
	}
	given := ID{1}
	if got := id(func(r *Record) { r.ID = given }); got != given {
		t.Errorf("Seal replaced ID %v by %v", given, got)
	}
	for name, change := range map[string]func(*Record){
		"type":   func(r *Record) { r.Type = Request },
		"date":   func(r *Record) { r.Date = r.Date.Add(time.Millisecond) },
		"target": func(r *Record) { r.TargetURI += "b" },
		"block":  func(r *Record) { r.Block = []byte("y") },
		"file":   func(r *Record) { r.Filename = "f" },
	} {
		if id(change) == same {
			t.Errorf("another %s, the same ID", name)
		}
	}
}

func TestAppendMemberRefuses(t *testing.T) {
	tests := []struct {
		name   string
		record Record
	}{
		{"no type", Record{}},
		{"line break in the target", Record{Type: Response, TargetURI: "http://a.example/\r\nX: y"}},
		{"outer space in a value", Record{Type: Response, TargetURI: " http://a.example/"}},
		{"line break in a field", Record{Type: Response, Fields: []Field{{"A", "b\nc"}}}},
		{"field name with a colon", Record{Type: Response, Fields: []Field{{"A:", "b"}}}},
		{"empty field name", Record{Type: Response, Fields: []Field{{"", "b"}}}},
		{"length as a field", Record{Type: Response, Fields: []Field{{"content-length", "3"}}}},
		{"long header", Record{Type: Response, TargetURI: strings.Repeat("x", maxHeader)}},
		{"many fields", Record{Type: Response, Fields: make([]Field, maxFields)}},
		{"year 10000", Record{Type: Response, Date: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := NewEncoder(FastLevel).AppendMember([]byte("before"), &tt.record)
			if err == nil || string(got) != "before" {
				t.Errorf("AppendMember = %q, %v; want dst as it was and an error", got, err)
			}
		})
	}
}

// anyRecord draws records with every field in the form that we write.
func anyRecord(t *rapid.T) *Record {
	value := rapid.StringMatching(`[!-~é]([ -~é\t]{0,20}[!-~é])?`)
	maybe := func(g *rapid.Generator[string]) string { return rapid.OneOf(rapid.Just(""), g).Draw(t, "text") }
	id := rapid.Custom(func(t *rapid.T) (id ID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		return id
	})
	date := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(-62135596799_999, 253402300799_999).Draw(t, "ms")).UTC()
	})
	target := rapid.StringMatching(`https?://[a-z.]{1,10}/[!-;=?-~]{0,20}`)
	r := &Record{
		Type: Type(value.Draw(t, "type")), ID: id.Draw(t, "id"), Date: date.Draw(t, "date"),
		TargetURI: maybe(target), ContentType: maybe(value),
		ConcurrentTo: id.Draw(t, "concurrent"), RefersTo: id.Draw(t, "refers"),
		RefersToURI: maybe(target), RefersToDate: date.Draw(t, "refers date"),
		Profile: maybe(value), Truncated: Truncation(maybe(value)), Filename: maybe(value), WarcinfoID: id.Draw(t, "info"),
		Block: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "block"),
	}
	if b := rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "address"); len(b) == 4 || len(b) == 16 {
		r.Address, _ = netip.AddrFromSlice(b)
	}
	copy(r.PayloadDigest[:], rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "digest"))
	for range rapid.IntRange(0, 3).Draw(t, "extra") {
		r.Fields = append(r.Fields, Field{rapid.StringMatching(`X-[a-zA-Z]{1,5}`).Draw(t, "name"), maybe(value)})
	}
	r.Seal()
	return r
}

func TestRecordRoundTrip(t *testing.T) {
	e := NewEncoder(FastLevel)
	rapid.Check(t, func(t *rapid.T) {
		want := anyRecord(t)
		member, err := e.AppendMember(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(member, Pointer{File: "member"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpRecords...); diff != "" {
			t.Errorf("decoded (-want +got):\n%s", diff)
		}
	})
}

// FuzzRecordRoundTrip holds that a decoded record survives encoding and decoding, whoever wrote it.
func FuzzRecordRoundTrip(f *testing.F) {
	for _, r := range capture() {
		f.Add(plain(f, r))
	}
	f.Add([]byte("WARC/1.0\nwarc-type: response\nWARC-Record-ID: <x:1>\nWARC-Record-ID: <x:2>\nWARC-Target-URI: <<http://a.example/ >>\nContent-Length: 0\n\n\r\n\r\n"))
	f.Add([]byte("WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: 2016-01\r\nWARC-Date: 2016-01-02T03:04:05.123456789Z\r\nWARC-Payload-Digest: sha256:ab\r\nX: a\r\n  b\r\nContent-Length: 1\r\n\r\nz\r\n\r\n"))
	e := NewEncoder(FastLevel)
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := decode(data, Pointer{File: "member"})
		if err != nil {
			return
		}
		unsealed := want.BlockDigest == Digest{}
		again, err := e.AppendMember(nil, want)
		if err != nil {
			if len(data) < maxHeader/2 {
				t.Fatalf("encode what was decoded: %v", err)
			}
			return
		}
		got, err := decode(again, Pointer{File: "member"})
		if err != nil {
			t.Fatalf("decode what was encoded: %v\n%s", err, inflated(t, again))
		}
		if want.ID == (ID{}) {
			got.ID = ID{}
		}
		if unsealed {
			got.BlockDigest = Digest{}
		}
		if diff := cmp.Diff(want, got, cmpRecords...); diff != "" {
			t.Errorf("decoded again (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkAppendMember(b *testing.B) {
	var body strings.Builder
	for i := 0; body.Len() < 20<<10; i++ {
		fmt.Fprintf(&body, "<li class=\"entry\"><a href=\"/articles/%d/%x\">Article number %d of %x</a></li>\n", i, i*i*7919, i, i*104729)
	}
	r := &Record{
		Type: Response, Date: at, TargetURI: "https://www.example.org/articles/", ContentType: TypeResponse,
		Address: netip.MustParseAddr("192.0.2.7"), Block: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body.String()),
	}
	r.PayloadDigest = DigestOf(r.Block)
	for _, level := range []int{FastLevel, 6} {
		b.Run(fmt.Sprintf("level=%d/bytes=20k", level), func(b *testing.B) {
			e := NewEncoder(level)
			var dst []byte
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Block)))
			for b.Loop() {
				dst, _ = e.AppendMember(dst[:0], r)
			}
			b.ReportMetric(float64(len(dst))/float64(len(r.Block)), "compressed")
		})
	}
}
