package segments

import (
	"bytes"
	linked "container/list"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store/internal/format"
)

// cache keeps recently read parts of objects in files of a folder. Each file ends in a checksum: a damaged file
// only costs another request.
type cache struct {
	fs    vfs.FS
	dir   string
	limit int64

	mu    sync.Mutex
	used  int64
	order *linked.List // of *cached, the last used first
	files map[string]*linked.Element
}

type cached struct {
	name string // of the file
	size int64
}

// blockBytes is how much of an object is read and kept at once.
const blockBytes = 256 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openCache opens the cache of a directory, with what the last run left.
func openCache(fsys vfs.FS, dir string, limit int64, known func(segment string) bool) (*cache, error) {
	c := &cache{fs: fsys, dir: fsys.PathJoin(dir, format.CacheDir), limit: limit, order: linked.New(), files: map[string]*linked.Element{}}
	if limit == 0 {
		return c, fsys.RemoveAll(c.dir)
	}
	if err := format.MakeDir(fsys, c.dir); err != nil {
		return nil, err
	}
	names, err := fsys.List(c.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		segment, _, _ := strings.Cut(name, "@")
		info, err := fsys.Stat(fsys.PathJoin(c.dir, name))
		if err == nil && (!known(segment) || strings.HasSuffix(name, ".new")) {
			err = fsys.Remove(fsys.PathJoin(c.dir, name))
		} else if err == nil {
			c.files[name] = c.order.PushFront(&cached{name, info.Size()})
			c.used += info.Size()
		}
		if err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrink()
	return c, nil
}

func blockName(segment string, block int64) string {
	return segment + "@" + strconv.FormatInt(block, 10)
}

// get returns a block, or nil.
func (c *cache) get(segment string, block int64) []byte {
	name := blockName(segment, block)
	c.mu.Lock()
	e := c.files[name]
	if e != nil {
		c.order.MoveToFront(e)
	}
	c.mu.Unlock()
	if e == nil {
		return nil
	}
	raw, err := format.ReadFile(c.fs, c.fs.PathJoin(c.dir, name), blockBytes+4)
	if n := len(raw) - 4; err == nil && n >= 0 && crc32.Checksum(raw[:n], castagnoli) == binary.BigEndian.Uint32(raw[n:]) {
		return raw[:n]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
	return nil
}

// put stores a block if valid allows it. A disk without room for it is not an error.
func (c *cache) put(segment string, block int64, content []byte, valid func() bool) {
	size := int64(len(content)) + 4
	if size > c.limit {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := blockName(segment, block)
	if c.files[name] != nil || !valid() {
		return
	}
	path := c.fs.PathJoin(c.dir, name)
	if c.write(path+".new", content) != nil || c.fs.Rename(path+".new", path) != nil {
		_ = c.fs.Remove(path + ".new") // if that fails, the next opening removes it
		return
	}
	c.files[name] = c.order.PushFront(&cached{name, size})
	c.used += size
	c.shrink()
}

func (c *cache) write(path string, content []byte) error {
	f, err := c.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// A copy, because a file may change the bytes that it is given.
	_, err = f.Write(binary.BigEndian.AppendUint32(bytes.Clone(content), crc32.Checksum(content, castagnoli)))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// shrink drops the blocks used longest ago while there are too many. The caller holds c.mu.
func (c *cache) shrink() {
	for c.used > c.limit && c.order.Len() > 0 {
		c.drop(c.order.Back().Value.(*cached).name)
	}
}

// drop removes a file. The file may be missing. The caller holds c.mu.
func (c *cache) drop(name string) {
	e := c.files[name]
	if e == nil {
		return
	}
	_ = c.fs.Remove(c.fs.PathJoin(c.dir, name)) // the next opening finds what stays
	c.order.Remove(e)
	delete(c.files, name)
	c.used -= e.Value.(*cached).size
}

// forget removes all blocks of a segment of that size.
func (c *cache) forget(segment string, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for block := range (size + blockBytes - 1) / blockBytes {
		name := blockName(segment, block)
		if c.files[name] == nil {
			continue
		}
		if err := c.fs.Remove(c.fs.PathJoin(c.dir, name)); err != nil {
			return fmt.Errorf("segments: cache: %w", err)
		}
		c.drop(name)
	}
	return nil
}

// bytes returns the size of the cache.
func (c *cache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}
