// Package s3server runs a real S3 server, versitygw, for tests. scripts/setup installs it.
package s3server

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"freshet/clock"
)

// Server is a server whose buckets are folders.
type Server struct {
	Folder string // of the buckets' folders

	address string
	command *exec.Cmd
}

// Start starts a server with some buckets until the test ends, and sets the variables by which clients in this process
// find it. It skips the test if the server is not installed.
func Start(t *testing.T, buckets ...string) *Server {
	t.Helper()
	if _, err := os.Stat(program(t)); errors.Is(err, fs.ErrNotExist) {
		t.Skip("versitygw is not installed: run scripts/setup")
	}
	s := &Server{Folder: t.TempDir(), address: freeAddress(t)}
	for _, name := range buckets {
		if err := os.Mkdir(filepath.Join(s.Folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": "http://" + s.address, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "tester",
		"AWS_SECRET_ACCESS_KEY": Secret, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	s.Up(t)
	t.Cleanup(func() { s.Down(t) })
	return s
}

// Secret is the secret key of the server's user, which nothing may print.
const Secret = "sesame-open-9417"

// program returns the path of the server's program, in the folder where go.mod is.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".tools", "versitygw")
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatal("no go.mod in any folder above: ", err)
	return ""
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Up starts the server again.
func (s *Server) Up(t *testing.T) {
	t.Helper()
	versions := s.Folder + ".versions"
	if err := os.MkdirAll(versions, 0o700); err != nil {
		t.Fatal(err)
	}
	s.command = exec.Command(program(t), "--quiet", "--port", s.address,
		"posix", "--versioning-dir", versions, s.Folder)
	s.command.Env = append(os.Environ(), "ROOT_ACCESS_KEY=tester", "ROOT_SECRET_KEY="+Secret)
	var said bytes.Buffer
	s.command.Stdout, s.command.Stderr = &said, &said
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if response, err := http.Get("http://" + s.address + "/"); err == nil {
			response.Body.Close()
			return
		}
		_ = clock.Real().Sleep(context.Background(), 50*time.Millisecond)
	}
	t.Fatalf("versitygw does not answer: %s", said.Bytes())
}

// Down kills the server.
func (s *Server) Down(t *testing.T) {
	t.Helper()
	if s.command == nil {
		return
	}
	_ = s.command.Process.Kill() // it may have ended
	_ = s.command.Wait()         // it was killed
	s.command = nil
}
