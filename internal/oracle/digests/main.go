// Digests recomputes the digests of WARC files. It shares no code with the program that wrote them: it imports only
// the standard library.
//
//	digests [-require] FILE...
//
// It checks WARC-Block-Digest of every record, and WARC-Payload-Digest of every response and resource. Both are
// SHA-1 in base 32. The first is of the whole block. The second is of the entity body: what follows the HTTP
// header, without a chunked transfer coding but with a content coding (WARC 1.1, section 5.9). The payload digest
// of a revisit belongs to another record and is not checked. With -require, a record without a block digest, or a
// response without a payload digest, is a fault too.
//
// It prints a line of counts a file, and each fault; it exits with 1 if there is any.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httputil"
	"os"
	"strconv"
	"strings"
)

// maxBlock bounds the block of one record, which is held in memory.
const maxBlock = 1 << 30

func main() {
	require := flag.Bool("require", false, "a missing digest is a fault")
	flag.Parse()
	faults := 0
	for _, name := range flag.Args() {
		c := checker{require: *require}
		if err := c.file(name); err != nil {
			c.fault("%v", err)
		}
		fmt.Printf("%s: %d records, %d block digests, %d payload digests, %d faults\n",
			name, c.records, c.blocks, c.payloads, len(c.faults))
		for _, f := range c.faults {
			fmt.Printf("%s: %s\n", name, f)
		}
		faults += len(c.faults)
	}
	if faults > 0 || flag.NArg() == 0 {
		os.Exit(1)
	}
}

// checker counts what it sees in one file.
type checker struct {
	require                   bool
	records, blocks, payloads int
	faults                    []string
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// file checks the records of one file. Each record must be a gzip member of its own. A file whose name does not end
// in .gz or .open is read as it is.
func (c *checker) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" {
		return c.all(in)
	}
	member := new(gzip.Reader)
	for {
		if _, err := in.Peek(1); err == io.EOF {
			return nil
		}
		if err := member.Reset(in); err != nil {
			return fmt.Errorf("after record %d: %w", c.records, err)
		}
		member.Multistream(false)
		r := bufio.NewReader(member)
		if err := c.record(r); err != nil {
			return fmt.Errorf("record %d: %w", c.records, err)
		}
		if _, err := r.Peek(1); err != io.EOF {
			return fmt.Errorf("record %d: its gzip member goes on after it", c.records)
		}
	}
}

// all checks the records of an uncompressed file.
func (c *checker) all(r *bufio.Reader) error {
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		if err := c.record(r); err != nil {
			return fmt.Errorf("record %d: %w", c.records, err)
		}
	}
}

// record reads one record and checks its digests. An error means that the file cannot be read on.
func (c *checker) record(r *bufio.Reader) error {
	c.records++
	field, err := header(r)
	if err != nil {
		return err
	}
	length, err := strconv.ParseInt(field["content-length"], 10, 64)
	if err != nil || length < 0 || length > maxBlock {
		return fmt.Errorf("content-length %q", field["content-length"])
	}
	var block bytes.Buffer
	if n, err := io.CopyN(&block, r, length); err != nil {
		return fmt.Errorf("block of %d bytes ends after %d: %w", length, n, err)
	}
	var end [4]byte
	if _, err := io.ReadFull(r, end[:]); err != nil || string(end[:]) != "\r\n\r\n" {
		return fmt.Errorf("ends with %q, want two line ends", end)
	}
	if c.check(field, "warc-block-digest", block.Bytes(), c.require) {
		c.blocks++
	}
	switch field["warc-type"] {
	case "response":
		if c.check(field, "warc-payload-digest", entity(block.Bytes()), c.require) {
			c.payloads++
		}
	case "resource":
		if c.check(field, "warc-payload-digest", block.Bytes(), false) {
			c.payloads++
		}
	}
	return nil
}

// check compares the digest that the field gives with that of data, and reports whether there was one.
func (c *checker) check(field map[string]string, name string, data []byte, require bool) bool {
	value, ok := field[name]
	if !ok {
		if require {
			c.fault("record %d (%s %s): no %s", c.records, field["warc-type"], field["warc-target-uri"], name)
		}
		return false
	}
	sum := sha1.Sum(data)
	want := "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
	if value != want {
		c.fault("record %d (%s %s): %s is %s, want %s", c.records, field["warc-type"], field["warc-target-uri"], name, value, want)
	}
	return true
}

// header reads the version line and the named fields of a record, names in lower case.
func header(r *bufio.Reader) (map[string]string, error) {
	version, err := line(r)
	if err != nil {
		return nil, err
	}
	if version != "WARC/1.0" && version != "WARC/1.1" {
		return nil, fmt.Errorf("begins with %q", version)
	}
	fields := make(map[string]string)
	for {
		text, err := line(r)
		if err != nil {
			return nil, err
		}
		if text == "" {
			return fields, nil
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("field %q", text)
		}
		fields[strings.ToLower(name)] = strings.TrimSpace(value)
	}
}

// line reads a line, which must end in CR LF.
func line(r *bufio.Reader) (string, error) {
	text, err := r.ReadSlice('\n')
	if err != nil {
		return "", fmt.Errorf("line %.80q: %w", text, err)
	}
	body, ok := bytes.CutSuffix(text, []byte("\r\n"))
	if !ok {
		return "", errors.New("line without carriage return")
	}
	return string(body), nil
}

// entity returns the entity body of an HTTP response as it was on the wire: what follows the header of the final
// answer, its chunks put together. Of a cut body it returns the part that is there.
func entity(block []byte) []byte {
	for {
		head, body, ok := bytes.Cut(block, []byte("\r\n\r\n"))
		if !ok {
			return nil
		}
		if interim(head) {
			block = body
			continue
		}
		if !chunked(head) {
			return body
		}
		data, _ := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body)))
		return data
	}
}

// interim reports whether the header is that of a 1xx answer before the final one.
func interim(head []byte) bool {
	_, status, _ := bytes.Cut(head, []byte(" "))
	return len(status) > 0 && status[0] == '1' && !bytes.HasPrefix(status, []byte("101"))
}

// chunked reports whether the header's transfer coding ends in chunks.
func chunked(head []byte) bool {
	for text := range strings.SplitSeq(string(head), "\r\n") {
		name, value, _ := strings.Cut(text, ":")
		if strings.EqualFold(strings.TrimSpace(name), "transfer-encoding") {
			value = strings.ToLower(strings.TrimSpace(value))
			return value == "chunked" || strings.HasSuffix(value, ",chunked") || strings.HasSuffix(value, " chunked")
		}
	}
	return false
}
