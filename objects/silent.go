package objects

import (
	"context"
	"net"

	"freshet/clock"
)

// dialing opens a connection, as net.Dialer does.
type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// impatient returns a dialing whose connections fail if the server neither sends nor accepts a byte for answerTime. A
// server that falls silent in the middle of an answer would otherwise be waited for forever.
func impatient(dial dialing) dialing {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return bounded{conn}, nil
	}
}

// bounded is a connection of an impatient dialing.
type bounded struct{ net.Conn }

// Read implements net.Conn.
func (b bounded) Read(p []byte) (int, error) {
	_ = b.SetReadDeadline(clock.Real().Deadline(answerTime)) // it fails only if the connection is closed
	return b.Conn.Read(p)
}

// Write implements net.Conn. While bytes are sent, the wait for the answer does not run.
func (b bounded) Write(p []byte) (int, error) {
	_ = b.SetDeadline(clock.Real().Deadline(answerTime))
	return b.Conn.Write(p)
}
