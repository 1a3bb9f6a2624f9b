package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// socketName is the control socket in the data directory.
const socketName = "control.sock"

// viewSocketName is the socket in a data directory that freshet view has open. It answers what needs no crawl.
const viewSocketName = "view.sock"

// longestSocket is how many bytes the path of a Unix socket may have: on Linux 107, elsewhere less.
const longestSocket = 103

// listenSocket listens on a Unix socket that only its owner may open. It replaces a socket that a crash left: the
// caller holds the data directory's lock, so nobody uses it. The caller removes the socket.
func listenSocket(path string) (listener net.Listener, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	err = withShortPath(path, func(short string) error {
		mask := syscall.Umask(0o177)
		defer syscall.Umask(mask)
		listener, err = net.Listen("unix", short)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // a short path may be invalid by then
	return listener, nil
}

// dialSocket connects to a Unix socket.
func dialSocket(ctx context.Context, path string) (conn net.Conn, err error) {
	err = withShortPath(path, func(short string) error {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", short)
		return err
	})
	return conn, err
}

// withShortPath calls use with a path to the socket that is short enough: path itself, or one through its open
// directory, which is valid during the call. So on Linux the directory may be as deep as the file system allows.
func withShortPath(path string, use func(short string) error) error {
	if len(path) <= longestSocket {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	open := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	if _, err := os.Stat(open); err != nil {
		return fmt.Errorf("path %q is longer than the %d bytes that the path of a socket may have: use a shorter --data", path, longestSocket)
	}
	return use(filepath.Join(open, filepath.Base(path)))
}
