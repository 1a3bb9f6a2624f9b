// Package objects keeps files under names in an object store, such as a bucket of S3, or in a folder.
//
// An object is written whole or not at all, and is not changed. Put returns when the store has proved that it holds
// every byte. A repeated Put continues an interrupted one. Remove removes everything that the store has under a
// name: old versions of the object, and the parts of an upload that was never completed.
package objects

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sum is the SHA-256 of an object.
type Sum = [sha256.Size]byte

// Object is an entry of a list.
type Object struct {
	Name  string // its parts are separated by slashes
	Bytes int64
}

// Store keeps objects. It is safe for concurrent use. Errors match fs.ErrNotExist for a missing object, and
// ErrRefused if a retry cannot help before a setting is changed.
type Store interface {
	// String returns the address without secrets.
	String() string
	// Put creates or replaces an object of size bytes and returns their sum.
	Put(ctx context.Context, name string, from io.ReaderAt, size int64) (Sum, error)
	// Create creates a small object. Its error matches fs.ErrExist if there is one with that name.
	Create(ctx context.Context, name string, content []byte) error
	// ReadAt reads a part of an object, as io.ReaderAt does.
	ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error)
	// Size returns how many bytes an object has.
	Size(ctx context.Context, name string) (int64, error)
	// List returns the objects whose names begin with prefix, in the order of their names.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Remove removes an object and all that is left of earlier ones with its name. It succeeds if there is none.
	Remove(ctx context.Context, name string) error
	// Close closes connections.
	Close()
}

// ErrRefused means that a store refuses a request: there is no such bucket, or the credentials are wrong.
var ErrRefused = errors.New("refused")

// Scheme begins the addresses of buckets.
const Scheme = "s3://"

// Check returns what is wrong with an address: s3://BUCKET, s3://BUCKET/PREFIX or the path of a folder.
func Check(address string) error {
	if address == "" {
		return errors.New("want s3://BUCKET/PREFIX or a folder")
	}
	if !IsBucket(address) {
		if scheme, _, ok := strings.Cut(address, "://"); ok {
			return fmt.Errorf("%s://: want s3://BUCKET/PREFIX or a folder", scheme)
		}
		return nil
	}
	_, _, err := split(address)
	return err
}

// IsBucket reports whether an address is of a bucket and not the path of a folder.
func IsBucket(address string) bool { return strings.HasPrefix(address, Scheme) }

// split returns the bucket of an address, and the prefix of object names.
func split(address string) (bucket, prefix string, err error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", "", errors.New("want s3://BUCKET/PREFIX")
	case u.User != nil:
		return "", "", errors.New("credentials in the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
	case u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return "", "", errors.New("want s3://BUCKET/PREFIX")
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	return u.Host, prefix, nil
}

// Open returns the store at an address. It makes no request. The server and the credentials of a bucket come from
// the usual environment variables: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE.
func Open(fsys vfs.FS, address string) (Store, error) {
	if err := Check(address); err != nil {
		return nil, fmt.Errorf("object store: %w", err) // without the address: it may have a secret
	}
	if IsBucket(address) {
		return openBucket(address)
	}
	return &folder{fs: fsys, path: address}, nil
}

// ReadAll returns the content of an object of at most limit bytes.
func ReadAll(ctx context.Context, s Store, name string, limit int64) ([]byte, error) {
	size, err := s.Size(ctx, name)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%s/%s: %d bytes: want at most %d", s, name, size, limit)
	}
	content := make([]byte, size)
	if _, err := s.ReadAt(ctx, name, content, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return content, nil
}

// Reader returns a reader of an object of a known size. It reads a few MiB a request.
func Reader(ctx context.Context, s Store, name string, size int64) io.Reader {
	return &reader{ctx: ctx, store: s, name: name, size: size}
}

// atOnce is how many bytes a reader requests at a time.
const atOnce = 4 << 20

type reader struct {
	ctx    context.Context // of one Reader
	store  Store
	name   string
	size   int64
	at     int64 // offset of the next request
	buffer []byte
	have   []byte // the unread part of the buffer
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.have) == 0 {
		if r.at >= r.size {
			return 0, io.EOF
		}
		if r.buffer == nil {
			r.buffer = make([]byte, min(atOnce, r.size))
		}
		part := r.buffer[:min(int64(len(r.buffer)), r.size-r.at)]
		n, err := r.store.ReadAt(r.ctx, r.name, part, r.at)
		if n < len(part) {
			if err == nil || err == io.EOF {
				err = fmt.Errorf("%s/%s: %d bytes: want %d: %w", r.store, r.name, r.at+int64(n), r.size, io.ErrUnexpectedEOF)
			}
			return 0, err
		}
		r.at, r.have = r.at+int64(n), part
	}
	n := copy(p, r.have)
	r.have = r.have[n:]
	return n, nil
}

// sumOf reads an object back and returns its sum.
func sumOf(ctx context.Context, s Store, name string, size int64) (sum Sum, err error) {
	h := sha256.New()
	if _, err := io.Copy(h, Reader(ctx, s, name, size)); err != nil {
		return sum, err
	}
	return Sum(h.Sum(nil)), nil
}

// answerTime is how long one request may take, with some MiB in it.
const answerTime = 2 * time.Minute
