package robots

import (
	"container/list"

	"freshet/weburl"
)

// entryBytes is the size of a cache entry without its value.
const entryBytes = 160

// cache keeps the last used values of sites, in a bounded number of bytes.
type cache[V any] struct {
	most, bytes int64
	size        func(V) int64
	entries     map[weburl.Site]*list.Element
	order       list.List // of entries, last used first
}

type entry[V any] struct {
	site  weburl.Site
	value V
	bytes int64
}

func newCache[V any](most int64, size func(V) int64) *cache[V] {
	return &cache[V]{most: most, size: size, entries: map[weburl.Site]*list.Element{}}
}

func (c *cache[V]) get(site weburl.Site) (value V, ok bool) {
	at := c.entries[site]
	if at == nil {
		return value, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*entry[V]).value, true
}

// put stores a value, unless it is larger than the whole cache, and drops the values used longest ago.
func (c *cache[V]) put(site weburl.Site, value V) {
	c.drop(site)
	e := &entry[V]{site, value, c.bytesOf(site, value)}
	if e.bytes > c.most {
		return
	}
	c.entries[site] = c.order.PushFront(e)
	for c.bytes += e.bytes; c.bytes > c.most; {
		c.drop(c.order.Back().Value.(*entry[V]).site)
	}
}

func (c *cache[V]) bytesOf(site weburl.Site, value V) int64 {
	return c.size(value) + int64(len(site)) + entryBytes
}

// fits reports whether a value can be stored without dropping others.
func (c *cache[V]) fits(site weburl.Site, value V) bool {
	return c.bytes+c.bytesOf(site, value) <= c.most
}

// oldest returns the value that was used longest ago.
func (c *cache[V]) oldest() (site weburl.Site, value V, ok bool) {
	last := c.order.Back()
	if last == nil {
		return site, value, false
	}
	e := last.Value.(*entry[V])
	return e.site, e.value, true
}

func (c *cache[V]) drop(site weburl.Site) {
	if at := c.entries[site]; at != nil {
		c.bytes -= at.Value.(*entry[V]).bytes
		c.order.Remove(at)
		delete(c.entries, site)
	}
}
