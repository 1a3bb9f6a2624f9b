package warc_test

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/warc"
)

// A response is compressed, appended, made durable and read back.
func Example() {
	fs := vfs.NewMem()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	w, err := warc.NewWriter(fs, "warc", warc.Options{
		Host: "archive.example",
		Info: []warc.Field{{Name: "software", Value: "freshet/1"}},
		Now:  func() time.Time { return now },
	})
	if err != nil {
		panic(err)
	}
	member, err := warc.NewEncoder(warc.FastLevel).AppendMember(nil, &warc.Record{
		Type: warc.Response, Date: now, TargetURI: "http://example.org/", ContentType: warc.TypeResponse,
		PayloadDigest: warc.DigestOf([]byte("hello")),
		Block:         []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"),
	})
	if err != nil {
		panic(err)
	}
	at, err := w.Append(nil, member)
	if err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	record, err := warc.ReadAt(fs, "warc", at[0])
	if err != nil {
		panic(err)
	}
	message, err := warc.ParseResponse(record.Block)
	if err != nil {
		panic(err)
	}
	fmt.Println(at[0].File)
	fmt.Println(record.TargetURI, message.Status, string(message.Body))
	// Output:
	// freshet-20260304050607-00000-archive.example.warc.gz
	// http://example.org/ 200 hello
}
