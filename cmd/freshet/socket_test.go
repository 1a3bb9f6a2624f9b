package main

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocket(t *testing.T) {
	tests := []struct{ name, dir string }{
		{"short", "d"},
		{"long", strings.Repeat("a/", 60)},
		{"very long", strings.Repeat(strings.Repeat("b", 200)+"/", 15)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.dir, socketName)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := dialSocket(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("dial before listen: %v", err)
			}
			for range 2 { // the second replaces what the first leaves
				listener, err := listenSocket(path)
				if err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(path)
				if err != nil || info.Mode() != fs.ModeSocket|0o600 {
					t.Errorf("socket: %v, %v", info, err)
				}
				client, err := dialSocket(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				server, err := listener.Accept()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := server.Write([]byte("hello")); err != nil {
					t.Error(err)
				}
				if err := errors.Join(server.Close(), listener.Close()); err != nil {
					t.Error(err)
				}
				if got, err := io.ReadAll(client); err != nil || string(got) != "hello" {
					t.Errorf("read %q, %v", got, err)
				}
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				if _, err := dialSocket(t.Context(), path); err == nil {
					t.Error("dialled a socket that nobody listens on")
				}
			}
		})
	}
}

// TestUntaken holds that the demo shows its window at a port of its own where another program has the default one.
func TestUntaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	if got := untaken(address); got == address || !strings.HasPrefix(got, "127.0.0.1:") {
		t.Errorf("%s is taken, and instead comes %s", address, got)
	}
	for _, free := range []string{"127.0.0.1:0", "192.0.2.1:80"} { // of another machine
		if got := untaken(free); got != free && !strings.HasPrefix(got, "127.0.0.1:") {
			t.Errorf("%s becomes %s", free, got)
		}
	}
}
