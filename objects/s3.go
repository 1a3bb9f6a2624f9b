package objects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a Store in a bucket of S3, below a prefix.
type bucket struct {
	core      minio.Core
	transport *http.Transport
	name      string
	prefix    string // of all names, empty or with a slash at its end
	address   string
}

const (
	// partBytes is the size of a part of an upload. After an interruption at most one part is sent again.
	partBytes = 16 << 20
	// mostParts is how many parts a server accepts.
	mostParts = 10_000
	// tries is how often a request is sent if the server does not answer.
	tries = 3
)

func openBucket(address string) (*bucket, error) {
	name, prefix, err := split(address)
	if err != nil {
		return nil, err
	}
	endpoint, secure, err := endpoint()
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	transport.DialContext = impatient(transport.DialContext)
	region := cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if region == "" && endpoint != amazon {
		region = "us-east-1" // for servers with one region only
	}
	core, err := minio.NewCore(endpoint, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}},
		}),
		Secure: secure, Region: region, Transport: transport, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", address, err)
	}
	return &bucket{*core, transport, name, prefix, strings.TrimSuffix(address, "/")}, nil
}

// amazon is the default server of buckets.
const amazon = "s3.amazonaws.com"

// endpoint returns the server that the environment names, and whether it uses TLS.
func endpoint() (host string, secure bool, err error) {
	text := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	if text == "" {
		return amazon, true, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return "", false, errors.New("AWS_ENDPOINT_URL: want a URL such as https://s3.example.org")
	}
	return u.Host, u.Scheme == "https", nil
}

func (b *bucket) String() string { return b.address }

func (b *bucket) Close() { b.transport.CloseIdleConnections() }

// fault returns an error that explains a failure of the store and what to do about it.
func (b *bucket) fault(what, name string, err error) error {
	if err == nil {
		return nil
	}
	where := strings.TrimSuffix(b.address+"/"+name, "/")
	answer := minio.ToErrorResponse(err)
	switch answer.Code {
	case "NoSuchKey":
		return fmt.Errorf("%s %s: %w", what, where, fs.ErrNotExist)
	case "PreconditionFailed":
		return fmt.Errorf("%s %s: %w", what, where, fs.ErrExist)
	case "NoSuchBucket":
		return fmt.Errorf("%s %s: there is no bucket %s: make it, or correct the address: %w", what, where, b.name, ErrRefused)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken":
		return fmt.Errorf("%s %s: the server does not know the credentials (%s): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w",
			what, where, answer.Code, ErrRefused)
	}
	if answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized || answer.Code == "XAdminUserNotFound" {
		return fmt.Errorf("%s %s: no permission: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, which must allow to list the bucket, and to get, put and delete its objects: %w",
			what, where, ErrRefused)
	}
	return fmt.Errorf("%s %s: %w", what, where, err)
}

// Create implements Store.
func (b *bucket) Create(ctx context.Context, name string, content []byte) error {
	if _, err := b.Size(ctx, name); err == nil { // not every server supports conditions
		return fmt.Errorf("write %s/%s: %w", b.address, name, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	sum := sha256.Sum256(content)
	_, err := b.core.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(content), int64(len(content)), "", hex.EncodeToString(sum[:]), o)
	return b.fault("write", name, err)
}

// part is a part of an object that is uploaded.
type part struct {
	offset, size int64
	md5          [md5.Size]byte
	sha256       Sum
}

// etag is the part's ETag, unless the server encrypts it with a key of its own.
func (p *part) etag() string { return hex.EncodeToString(p.md5[:]) }

// Put implements Store. It does not send parts again that the server has from an interrupted upload.
func (b *bucket) Put(ctx context.Context, name string, from io.ReaderAt, size int64) (sum Sum, err error) {
	whole := sha256.New()
	etag, err := b.upload(ctx, name, from, size, whole)
	if err != nil {
		return sum, b.fault("write", name, err)
	}
	sum = Sum(whole.Sum(nil))
	info, err := b.stat(ctx, name)
	if err != nil {
		return sum, err
	}
	if info.Size != size {
		return sum, fmt.Errorf("write %s/%s: the object has %d bytes: want %d", b.address, name, info.Size, size)
	}
	if strings.Trim(info.ETag, `"`) == etag {
		return sum, nil
	}
	found, err := sumOf(ctx, b, name, size)
	if err == nil && found != sum {
		err = fmt.Errorf("write %s/%s: the object has other bytes than were sent", b.address, name)
	}
	return sum, err
}

// upload sends the missing parts, adds all bytes to whole, and returns the ETag that the object will have.
func (b *bucket) upload(ctx context.Context, name string, from io.ReaderAt, size int64, whole hash.Hash) (etag string, err error) {
	length := max(partBytes, (size+mostParts-1)/mostParts)
	if size <= length {
		p, err := hashPart(from, 0, size, whole)
		if err != nil {
			return "", err
		}
		_, err = b.core.PutObject(ctx, b.name, b.prefix+name, io.NewSectionReader(from, 0, size), size, p.encoded(), hex.EncodeToString(p.sha256[:]), minio.PutObjectOptions{})
		return p.etag(), err
	}
	id, there, err := b.resume(ctx, name)
	if err != nil {
		return "", err
	}
	var parts []minio.CompletePart
	all := md5.New()
	for at := int64(0); at < size; at += length {
		p, err := hashPart(from, at, min(length, size-at), whole)
		if err != nil {
			return "", err
		}
		number := len(parts) + 1
		tag := there[number]
		if tag != p.etag() {
			if tag, err = b.putPart(ctx, name, id, number, from, p); err != nil {
				return "", err
			}
		}
		all.Write(p.md5[:])
		parts = append(parts, minio.CompletePart{PartNumber: number, ETag: tag})
	}
	_, err = b.core.CompleteMultipartUpload(ctx, b.name, b.prefix+name, id, parts, minio.PutObjectOptions{})
	return fmt.Sprintf("%x-%d", all.Sum(nil), len(parts)), err
}

func hashPart(from io.ReaderAt, offset, size int64, whole hash.Hash) (p part, err error) {
	p.offset, p.size = offset, size
	m, s := md5.New(), sha256.New()
	n, err := io.Copy(io.MultiWriter(m, s, whole), io.NewSectionReader(from, offset, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	p.md5, p.sha256 = [md5.Size]byte(m.Sum(nil)), Sum(s.Sum(nil))
	return p, err
}

func (p *part) encoded() string { return base64.StdEncoding.EncodeToString(p.md5[:]) }

func (b *bucket) putPart(ctx context.Context, name, id string, number int, from io.ReaderAt, p part) (etag string, err error) {
	sent, err := b.core.PutObjectPart(ctx, b.name, b.prefix+name, id, number, io.NewSectionReader(from, p.offset, p.size), p.size,
		minio.PutObjectPartOptions{Md5Base64: p.encoded(), Sha256Hex: hex.EncodeToString(p.sha256[:])})
	return sent.ETag, err
}

// resume returns an interrupted upload of an object, with the parts that the server has, or a new upload.
func (b *bucket) resume(ctx context.Context, name string) (id string, there map[int]string, err error) {
	ids, err := b.uploads(ctx, name)
	if err != nil {
		return "", nil, err
	}
	if len(ids) == 0 {
		id, err := b.core.NewMultipartUpload(ctx, b.name, b.prefix+name, minio.PutObjectOptions{})
		return id, nil, err
	}
	there = map[int]string{}
	for marker := 0; ; {
		found, err := b.core.ListObjectParts(ctx, b.name, b.prefix+name, ids[0], marker, 1000)
		if err != nil {
			return "", nil, err
		}
		for _, p := range found.ObjectParts {
			there[p.PartNumber] = strings.Trim(p.ETag, `"`)
		}
		if !found.IsTruncated || found.NextPartNumberMarker <= marker {
			return ids[0], there, nil
		}
		marker = found.NextPartNumberMarker
	}
}

// uploads returns the uploads of an object that were begun and not completed.
func (b *bucket) uploads(ctx context.Context, name string) (ids []string, err error) {
	found, err := b.core.ListMultipartUploads(ctx, b.name, b.prefix+name, "", "", "", 1000)
	for _, u := range found.Uploads {
		if u.Key == b.prefix+name {
			ids = append(ids, u.UploadID)
		}
	}
	return ids, err
}

// ReadAt implements Store.
func (b *bucket) ReadAt(ctx context.Context, name string, p []byte, offset int64) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for try := 0; ; try++ {
		n, err = b.readAt(ctx, name, p, offset)
		if err == nil || err == io.EOF || try == tries || ctx.Err() != nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrRefused) {
			return n, err
		}
	}
}

func (b *bucket) readAt(ctx context.Context, name string, p []byte, offset int64) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var o minio.GetObjectOptions
	if err := o.SetRange(offset, offset+int64(len(p))-1); err != nil {
		return 0, b.fault("read", name, err)
	}
	body, _, _, err := b.core.GetObject(ctx, b.name, b.prefix+name, o)
	if minio.ToErrorResponse(err).Code == "InvalidRange" {
		return 0, io.EOF
	}
	if err != nil {
		return 0, b.fault("read", name, err)
	}
	n, err = io.ReadFull(body, p)
	if e := body.Close(); err == nil && e != nil {
		err = e
	}
	if err == io.ErrUnexpectedEOF || err == io.EOF { // the object or the connection ends early
		size, e := b.Size(ctx, name)
		if e == nil && offset+int64(n) == size {
			return n, io.EOF
		}
		err = errors.Join(errors.New("the connection was cut"), e)
	}
	return n, b.fault("read", name, err)
}

func (b *bucket) stat(ctx context.Context, name string) (minio.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	info, err := b.core.StatObject(ctx, b.name, b.prefix+name, minio.StatObjectOptions{})
	return info, b.fault("look up", name, err)
}

// Size implements Store.
func (b *bucket) Size(ctx context.Context, name string) (int64, error) {
	info, err := b.stat(ctx, name)
	return info.Size, err
}

// List implements Store.
func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for info := range b.core.Client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
			o := Object{strings.TrimPrefix(info.Key, b.prefix), info.Size}
			if !yield(o, b.fault("list", prefix, info.Err)) || info.Err != nil {
				return
			}
		}
	}
}

// Remove implements Store.
func (b *bucket) Remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	key := b.prefix + name
	ids, err := b.uploads(ctx, name)
	for _, id := range ids {
		err = errors.Join(err, b.core.AbortMultipartUpload(ctx, b.name, key, id))
	}
	if err == nil {
		err = b.core.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{})
	}
	if err == nil {
		err = b.removeVersions(ctx, key)
	}
	return b.fault("remove", name, err)
}

// removeVersions removes the old versions of a removed object. A server without versions lists none, or does not
// know the request.
func (b *bucket) removeVersions(ctx context.Context, key string) error {
	kept, err := b.core.GetBucketVersioning(ctx, b.name)
	switch code := minio.ToErrorResponse(err).Code; {
	case code == "NotImplemented" || code == "VersioningNotConfigured" || err == nil && kept.Status == "":
		return nil
	case err != nil:
		return err
	}
	for info := range b.core.Client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: key, Recursive: true, WithVersions: true}) {
		if info.Err != nil {
			return info.Err
		}
		if info.Key != key {
			continue
		}
		if err := b.core.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{VersionID: info.VersionID}); err != nil {
			return err
		}
	}
	return nil
}
