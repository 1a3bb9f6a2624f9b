package fetch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"freshet/memory"
)

// room is the first buffer of a response. A response that fills enough of it stays there until its result is
// dropped.
type room [roomBytes]byte

const (
	// roomBytes is enough for most responses.
	roomBytes = 32 << 10
	// enoughRoom is the least size of a response that stays in its room. A smaller one is copied.
	enoughRoom = roomBytes / 4
	// maxChunkLine bounds a chunk's size and extensions.
	maxChunkLine = 4 << 10
)

var (
	errTooLarge = errors.New("header too large")
	errTooLong  = errors.New("body too long") // also of a line; the caller says what that means
	errTooSlow  = errors.New("too slow for the memory it holds")
)

// reader reads one response and keeps every byte of it.
type reader struct {
	x    *exchange
	conn *connection
	buf  []byte // the response so far; in a room at first
	at   int    // how much of it has been parsed

	lines   int             // of header, so far
	interim int             // offset at which the final response begins
	header  int64           // bytes that the parsed header takes, if it is a long one
	start   int             // offset at which the body begins, once it is known
	limit   int             // offset past which no byte of the body is wanted
	known   bool            // the body's length is known, and limit is its end
	chunked bool            // buf holds the chunks; the body itself will need as much again
	bodyLen int             // bytes of the body without its framing
	hold    *memory.Holding // its part of the memory budget; nil while the room is enough
	charged int64           // bytes that it holds
	since   time.Time       // machine time from which the pace of a response with memory counts
	came    int             // bytes since then
}

// fill reads at least one byte more.
func (in *reader) fill() error {
	if len(in.buf) == cap(in.buf) {
		if err := in.grow(); err != nil {
			return err
		}
	}
	for {
		n, err := in.conn.Read(in.buf[len(in.buf):cap(in.buf)])
		in.buf = in.buf[:len(in.buf)+n]
		switch {
		case n > 0: // an error will come again
			waited, err := in.x.pace(in.conn, in.x.f.opt.TotalTimeout, n, in.x.f.opt.In, in.x.req.In)
			if err != nil || in.hold == nil {
				return err
			}
			return in.watch(n, waited)
		case err == nil:
		case in.hold != nil && in.x.ended(err) == TimedOut:
			if err := in.watch(0, 0); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// If other fetches wait for memory that a response holds, the response must arrive at slowest bytes a second or
// faster. This is checked every slowLook. Otherwise servers that hold back the ends of long bodies could block all
// other long bodies.
const (
	slowest  = 32 << 10
	slowLook = 4 * time.Second
)

// watch checks whether a response that holds memory arrives fast enough, after n more bytes. The time that our own
// rate caps took does not count.
func (in *reader) watch(n int, waited time.Duration) error {
	c := in.x.f.opt.Clock
	now := c.Deadline(0)
	in.came += n
	in.since = in.since.Add(waited)
	passed := now.Sub(in.since)
	switch {
	case !now.Before(in.x.deadline):
		return os.ErrDeadlineExceeded
	case passed < slowLook:
		return nil
	case in.x.f.memory.Contended() && float64(in.came) < slowest*passed.Seconds():
		return errTooSlow
	}
	in.look(now)
	return nil
}

// look starts the time until the next check.
func (in *reader) look(now time.Time) {
	in.since, in.came = now, 0
	in.conn.SetDeadline(in.x.sooner(slowLook))
}

// grow enlarges the buffer: to what a body of known length needs, but to eight times its size at most; otherwise to
// twice its size. It never exceeds what may still be wanted.
func (in *reader) grow() error {
	size := 2 * cap(in.buf)
	if in.start > 0 {
		if in.known {
			size *= 4
		}
		size = min(size, in.limit+1)
	}
	size = max(size, len(in.buf)+1)
	if err := in.charge(int64(size)); err != nil {
		return err
	}
	in.buf = append(make([]byte, 0, size), in.buf...)
	return nil
}

// charge waits until the memory budget has room for that many bytes in all, in addition to the header's. This wait
// does not count as time of the fetch.
func (in *reader) charge(bytes int64) error {
	f := in.x.f
	if in.hold == nil {
		in.hold = f.memory.Hold()
	}
	more := bytes + in.header - in.charged
	if more <= 0 {
		return nil
	}
	if !in.hold.TryGrow(more) {
		began := f.opt.Clock.Now()
		if err := in.hold.Grow(in.x.ctx, more); err != nil {
			return err
		}
		in.x.deadline = in.x.deadline.Add(since(f.opt.Clock, began))
	}
	in.charged += more
	in.look(f.opt.Clock.Deadline(0))
	return nil
}

// need reads until the response has end bytes. At io.EOF before that it returns io.ErrUnexpectedEOF.
func (in *reader) need(end int) error {
	for len(in.buf) < end {
		if err := in.fill(); err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
	}
	return nil
}

// line reads one line and returns it without its end. It returns errTooLong if the line does not end within the
// first limit bytes of the response.
func (in *reader) line(limit int) ([]byte, error) {
	for seen := in.at; ; {
		if n := bytes.IndexByte(in.buf[seen:], '\n'); n >= 0 {
			if seen+n >= limit {
				return nil, errTooLong
			}
			line := in.buf[in.at : seen+n]
			in.at = seen + n + 1
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		seen = len(in.buf)
		if seen >= limit {
			return nil, errTooLong
		}
		if err := in.need(seen + 1); err != nil {
			return nil, err
		}
	}
}

// head reads and skips interim responses, and returns the header of the final one.
func (in *reader) head() (head, error) {
	for {
		in.interim = in.at
		if err := in.block(in.x.f.opt.MaxHeader); err != nil {
			return head{}, err
		}
		if n := in.at - in.interim; n > enoughRoom { // a shorter one is part of the connection's share
			in.header = headerFactor * int64(n)
			if err := in.charge(int64(cap(in.buf))); err != nil {
				return head{}, err
			}
		}
		h, err := parseHead(string(in.buf[in.interim:in.at]))
		if err != nil || h.status >= 200 || h.status == 101 {
			return h, err
		}
	}
}

// block reads lines up to a blank one. It returns at once if the first line cannot be a status line.
func (in *reader) block(limit int) error {
	for first := true; ; first = false {
		line, err := in.line(limit)
		if err == errTooLong {
			return errTooLarge
		} else if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.")) {
			return malformed("status line %.40q", line)
		}
		if in.lines++; in.lines > in.x.f.opt.MaxHeaderLines {
			return errTooLarge
		}
		if len(line) == 0 {
			return nil
		}
	}
}

// body reads the body by its framing.
func (in *reader) body(f framing) error {
	longest := in.x.f.opt.MaxBody
	if in.x.req.MaxBody > 0 {
		longest = min(longest, in.x.req.MaxBody)
	}
	in.start = in.at
	in.limit = in.start + int(longest)
	switch f.kind {
	case byChunks:
		in.chunked = true
		return in.chunks()
	case byClosing:
		return in.toClose()
	}
	in.known = true
	tooLong := f.length > longest
	in.limit = in.start + int(min(f.length, longest))
	err := in.need(in.limit)
	in.at = min(in.limit, len(in.buf))
	if err == nil && tooLong {
		err = errTooLong
	}
	return err
}

// toClose reads until the server closes.
func (in *reader) toClose() error {
	for {
		err := in.fill()
		in.at = min(len(in.buf), in.limit)
		switch {
		case len(in.buf) > in.limit:
			return errTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// chunks reads a chunked body and its trailers (RFC 9112 section 7.1).
func (in *reader) chunks() error {
	for {
		line, err := in.line(min(in.at+maxChunkLine, in.limit))
		if err != nil {
			if err == errTooLong && in.at+maxChunkLine < in.limit {
				err = malformed("chunk line of more than %d bytes", maxChunkLine)
			}
			in.at = min(len(in.buf), in.limit)
			return err
		}
		size, err := chunkSize(line)
		if err != nil {
			return err
		}
		if size == 0 {
			return in.trailers()
		}
		if err := in.chunk(size); err != nil {
			return err
		}
	}
}

// chunk reads one chunk's data and the line end after it.
func (in *reader) chunk(size int64) error {
	end := in.limit
	if size < int64(in.limit-in.at) {
		end = in.at + int(size)
	}
	err := in.need(end)
	have := min(end, len(in.buf)) - in.at
	in.at += have
	in.bodyLen += have
	switch {
	case err != nil:
		return err
	case in.at == in.limit: // without room for a line end
		return errTooLong
	}
	line, err := in.line(in.at + 2)
	if err == errTooLong || err == nil && len(line) > 0 {
		return malformed("no line end after a chunk")
	}
	return err
}

// trailers reads the fields after the last chunk. They are kept only in the response's bytes.
func (in *reader) trailers() error {
	end := in.at + in.x.f.opt.MaxHeader
	in.limit = max(in.limit, end)
	for {
		line, err := in.line(end)
		if err == errTooLong {
			err = malformed("trailers of more than %d bytes", in.x.f.opt.MaxHeader)
		}
		if err != nil || len(line) == 0 {
			return err
		}
	}
}

// chunkSize reads the hexadecimal number before a chunk's extensions.
func chunkSize(line []byte) (int64, error) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.Trim(digits, " \t")
	if len(digits) == 0 || len(digits) > 15 {
		return 0, malformed("chunk size %.40q", line)
	}
	size, err := strconv.ParseInt(string(digits), 16, 64)
	if err != nil || digits[0] == '+' || digits[0] == '-' {
		return 0, malformed("chunk size %.40q", line)
	}
	return size, nil
}

// pieceReader reads the data of the chunks in a body that chunks has read. left bytes are still to come. The last
// chunk may be cut short.
type pieceReader struct {
	framed []byte
	left   int
	piece  []byte
}

// next moves to the next piece, if there is one.
func (r *pieceReader) next() bool {
	if r.left == 0 {
		return false
	}
	line, data, _ := bytes.Cut(r.framed, []byte("\n"))
	size, _ := chunkSize(bytes.TrimSuffix(line, []byte("\r")))
	n := int(min(size, int64(len(data)), int64(r.left)))
	r.piece = data[:n]
	r.left -= n
	_, r.framed, _ = bytes.Cut(data[n:], []byte("\n"))
	return true
}

// finish gives the result its bytes. It returns spare memory to the budget, and the room to its pool unless the
// response stays there.
func (in *reader) finish(first *room) {
	r := in.x.r
	end := len(in.buf)
	if r.HeaderLen > 0 {
		end = in.at
	}
	raw := in.buf[:end:end]
	moved := cap(in.buf) > roomBytes
	if !moved && end >= enoughRoom {
		r.room, r.pool = first, &in.x.f.rooms // until it is dropped
	} else {
		if !moved || cap(in.buf)-end > end/4 {
			raw = slices.Clone(raw)
		}
		in.x.f.rooms.Put(first)
	}
	r.ResponseBytes = raw
	switch {
	case in.chunked:
		r.chunked, r.BodyLen = true, in.bodyLen
	case r.HeaderLen > 0:
		r.BodyLen = len(raw) - r.HeaderLen
	}
	in.settle()
}

// settle reduces the charged memory to what the result holds. Drop returns that.
func (in *reader) settle() {
	if in.hold == nil {
		return
	}
	in.hold.Shrink(max(0, in.charged-in.header-int64(len(in.x.r.ResponseBytes))))
	in.x.r.hold = in.hold
}
