package objects_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"freshet/internal/s3server"
	"freshet/objects"
)

func open(t *testing.T, address string) objects.Store {
	t.Helper()
	s, err := objects.Open(vfs.Default, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// cutOff is content with an unreadable part.
type cutOff struct {
	*bytes.Reader
	at  int64
	off bool
}

var errCut = errors.New("cut")

func (c *cutOff) ReadAt(p []byte, offset int64) (int, error) {
	if c.off && offset >= c.at {
		return 0, errCut
	}
	return c.Reader.ReadAt(p, offset)
}

// TestStore puts, reads, lists and removes objects of both kinds of stores.
func TestStore(t *testing.T) {
	t.Run("folder", func(t *testing.T) { testStore(t, open(t, filepath.Join(t.TempDir(), "some", "where"))) })
	t.Run("s3", func(t *testing.T) {
		s3server.Start(t, "crawls")
		testStore(t, open(t, "s3://crawls/some/where"))
	})
}

func testStore(t *testing.T, s objects.Store) {
	ctx := context.Background()
	content := make([]byte, 37<<20) // of three parts
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(content)
	for _, name := range []string{"warc/b", "warc/a", "other"} {
		if err := s.Create(ctx, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Create(ctx, "other", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	// A cut put leaves no object. The next put goes on where it stopped.
	cut := &cutOff{bytes.NewReader(content), 20 << 20, true}
	if _, err := s.Put(ctx, "warc/large", cut, int64(len(content))); !errors.Is(err, errCut) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Size(ctx, "warc/large"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("size of what is half there: %v", err)
	}
	cut.off = false
	if _, err := s.Put(ctx, "warc/large", cut, int64(len(content))); err != nil {
		t.Fatal(err)
	}
	var names []string
	for o, err := range s.List(ctx, "warc/") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, o.Name)
	}
	if got := strings.Join(names, " "); got != "warc/a warc/b warc/large" {
		t.Errorf("list: %s", got)
	}
	part := make([]byte, 1000)
	if n, err := s.ReadAt(ctx, "warc/large", part, 17<<20); err != nil || !bytes.Equal(part[:n], content[17<<20:][:1000]) {
		t.Errorf("read: %d bytes, %v", n, err)
	}
	if n, err := s.ReadAt(ctx, "warc/large", part, int64(len(content))-10); err != io.EOF || n != 10 {
		t.Errorf("read at the end: %d bytes, %v", n, err)
	}
	if n, err := s.ReadAt(ctx, "warc/large", part, int64(len(content))+10); err != io.EOF || n != 0 {
		t.Errorf("read behind the end: %d bytes, %v", n, err)
	}
	whole, err := io.ReadAll(objects.Reader(ctx, s, "warc/large", int64(len(content))))
	if err != nil || !bytes.Equal(whole, content) {
		t.Errorf("read whole: %d bytes, %v", len(whole), err)
	}
	for range 2 {
		if err := s.Remove(ctx, "warc/large"); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if _, err := s.ReadAt(ctx, "warc/large", part, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read what is removed: %v", err)
	}
}

// TestResume holds that a second put does not send again the parts that the server has. Removal takes everything off
// the server's disk: the parts of cut uploads, and older versions.
func TestResume(t *testing.T) {
	server := s3server.Start(t, "crawls")
	ctx := context.Background()
	client, err := minio.New(strings.TrimPrefix(os.Getenv("AWS_ENDPOINT_URL_S3"), "http://"), &minio.Options{Creds: credentials.NewEnvAWS(), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.EnableVersioning(ctx, "crawls"); err != nil {
		t.Fatal(err)
	}
	s := open(t, "s3://crawls")
	content := bytes.Repeat([]byte("0123456789abcdef"), 34<<20/16)
	copy(content, "quagmire-7713")
	from := &cutOff{bytes.NewReader(content), 33 << 20, true}
	if _, err := s.Put(ctx, "warc/x", from, int64(len(content))); !errors.Is(err, errCut) {
		t.Fatalf("put: %v", err)
	}
	uploads, err := minio.Core{Client: client}.ListMultipartUploads(ctx, "crawls", "warc/x", "", "", "", 10)
	if err != nil || len(uploads.Uploads) != 1 {
		t.Fatalf("uploads: %+v, %v", uploads.Uploads, err)
	}
	parts, err := minio.Core{Client: client}.ListObjectParts(ctx, "crawls", "warc/x", uploads.Uploads[0].UploadID, 0, 10)
	if err != nil || len(parts.ObjectParts) != 2 {
		t.Fatalf("parts: %+v, %v", parts.ObjectParts, err)
	}
	from.off = false
	if _, err := s.Put(ctx, "warc/x", from, int64(len(content))); err != nil {
		t.Fatal(err)
	}
	if uploads, err = (minio.Core{Client: client}).ListMultipartUploads(ctx, "crawls", "warc/x", "", "", "", 10); err != nil || len(uploads.Uploads) != 0 {
		t.Errorf("uploads: %+v, %v: want the one that was cut to be completed", uploads.Uploads, err)
	}
	for range 2 { // other versions
		if _, err := s.Put(ctx, "warc/x", bytes.NewReader(content[:100]), 100); err != nil {
			t.Fatal(err)
		}
	}
	from.off = true
	if _, err := s.Put(ctx, "warc/x", from, int64(len(content))); !errors.Is(err, errCut) {
		t.Fatalf("put: %v", err)
	}
	if found := filesWith(t, server.Folder, "quagmire-7713"); len(found) < 2 {
		t.Errorf("%q: want two uploads and versions", found)
	}
	if err := s.Remove(ctx, "warc/x"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{server.Folder, server.Folder + ".versions"} {
		if found := filesWith(t, dir, "quagmire-7713"); len(found) > 0 {
			t.Errorf("%q are left", found)
		}
	}
}

// filesWith returns the files below a folder that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRefused holds that errors say what to do and contain no secret.
func TestRefused(t *testing.T) {
	server := s3server.Start(t, "crawls")
	ctx := context.Background()
	use := func(address string) error {
		_, err := open(t, address).Put(ctx, "x", strings.NewReader("x"), 1)
		return err
	}
	err := use("s3://none/prefix")
	if !errors.Is(err, objects.ErrRefused) || !strings.Contains(err.Error(), "there is no bucket none: make it") {
		t.Errorf("no bucket: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "mistaken-8861")
	err = use("s3://crawls")
	if !errors.Is(err, objects.ErrRefused) || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") || strings.Contains(err.Error(), "8861") {
		t.Errorf("wrong secret: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
	if err = use("s3://crawls"); !errors.Is(err, objects.ErrRefused) || strings.Contains(err.Error(), "8861") {
		t.Errorf("wrong key: %v", err)
	}
	server.Down(t)
	if err = use("s3://crawls"); err == nil || errors.Is(err, objects.ErrRefused) {
		t.Errorf("no server: %v", err)
	}
	for _, address := range []string{"", "s3://", "s3://key:secret@bucket", "s3://bucket?x=y", "gs://bucket"} {
		if err := objects.Check(address); err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", address, err)
		}
		if _, err := objects.Open(nil, address); err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("open %q: %v", address, err)
		}
	}
}
