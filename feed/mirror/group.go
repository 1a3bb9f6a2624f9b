package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"freshet/feed/broadcast"
	"freshet/feed/broadcast/multicast"
)

const (
	groupBytes = 64 << 20 // of incomplete frames
	mostSilent = 8        // frames in a row without a datagram
)

// group is the multicast group of a server that a client has joined.
type group struct {
	receiver *multicast.Receiver
	conn     net.PacketConn
	ended    sync.WaitGroup
	heard    int64 // datagrams, when the last frame was fetched
	silent   int   // frames since then without a datagram
}

// join joins the group of a server before the subscription. It returns nil if there is none, or if it cannot be
// joined.
func (c *Client) join(ctx context.Context, address string) *group {
	if c.o.Listen == nil || c.deaf {
		return nil
	}
	response, err := c.ask(ctx, http.MethodGet, address, "/feed/group", nil, nil)
	if err != nil {
		return nil // the next request shows the error
	}
	defer response.Body.Close()
	var offer struct{ Group string }
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, 1<<10)).Decode(&offer) != nil {
		c.o.Logger.Warn("the feed sends to no group", "address", address)
		return nil
	}
	conn, err := c.o.Listen(offer.Group)
	if err != nil {
		c.o.Logger.Warn("the feed's group cannot be joined", "error", err)
		return nil
	}
	g := &group{receiver: multicast.NewReceiver(groupBytes, c.o.Clock), conn: conn}
	g.ended.Go(func() { _ = g.receiver.Run(conn) }) // missing parts are requested
	return g
}

func (g *group) leave() {
	if g == nil {
		return
	}
	_ = g.conn.Close()
	g.ended.Wait()
}

// errDeaf ends a connection. The next one does not use the group.
var errDeaf = errors.New("mirror: no datagrams of the feed's group arrive: chunks come over HTTP from now on")

// fetch returns an announced message. It comes from the group; missing parts come over HTTP. It must have the
// announced digest.
func (c *Client) fetch(ctx context.Context, address string, g *group, sent *broadcast.Sent) (*broadcast.Message, error) {
	if g == nil || sent.Bytes < 1 || sent.Bytes > multicast.MaxFrame || sent.TakesMs < 0 {
		return nil, fmt.Errorf("%w: it announces %d bytes", broadcast.ErrFrame, sent.Bytes)
	}
	within := time.Duration(min(sent.TakesMs, silence.Milliseconds())) * time.Millisecond
	frame, missing, err := g.receiver.Await(ctx, sent.Serial, sent.Bytes, within)
	if err != nil {
		return nil, err
	}
	if g.silent++; g.receiver.Arrivals() > g.heard {
		g.heard, g.silent = g.receiver.Arrivals(), 0
	}
	if g.silent >= mostSilent {
		c.deaf = true
		return nil, errDeaf
	}
	if err := c.repair(ctx, address, sent.Serial, frame, missing); err != nil {
		return nil, err
	}
	if sha256.Sum256(frame) != sent.Digest {
		if err := c.repair(ctx, address, sent.Serial, frame, []multicast.Span{{From: 0, To: len(frame)}}); err != nil {
			return nil, err
		}
	}
	if sha256.Sum256(frame) != sent.Digest {
		return nil, fmt.Errorf("%w: frame %d is not the one announced", broadcast.ErrFrame, sent.Serial)
	}
	return broadcast.ReadFrame(bytes.NewReader(frame))
}

// repair requests the missing parts of a frame.
func (c *Client) repair(ctx context.Context, address string, serial uint64, frame []byte, missing []multicast.Span) error {
	for _, span := range missing {
		header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", span.From, span.To-1)}}
		response, err := c.ask(ctx, http.MethodGet, address, fmt.Sprintf("/feed/frame?serial=%d", serial), nil, header)
		if err != nil {
			return err
		}
		switch response.StatusCode {
		case http.StatusPartialContent:
			_, err = io.ReadFull(response.Body, frame[span.From:span.To])
		case http.StatusGone:
			c.deaf, err = true, errDeaf // too slow for a group
		default:
			err = fmt.Errorf("mirror: frame %d: %s", serial, response.Status)
		}
		response.Body.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
