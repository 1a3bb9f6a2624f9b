package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrShare is returned if a budget has no room for an account, or if a holding would exceed its account's limit.
var ErrShare = errors.New("beyond the share")

// A Budget is the memory of a process. Safe for concurrent use.
type Budget struct {
	size int64

	mu     sync.Mutex // guards what follows
	shares int64      // of all accounts together
	parts  []part
}

// part is one line of a budget's table.
type part struct {
	name string
	used func() int64
}

// New returns a budget of size bytes.
func New(size int64) *Budget { return &Budget{size: size} }

// Size returns the bytes of the whole budget.
func (b *Budget) Size() int64 { return b.size }

// Left returns the bytes that are in no share.
func (b *Budget) Left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size - b.shares
}

// Open opens an account with a share of the budget, in bytes. One holding may have at most most of them. Open returns
// an error that wraps ErrShare if the budget has less than share left, or if share is less than most.
func (b *Budget) Open(name string, share, most int64) (*Account, error) {
	if share < most {
		return nil, fmt.Errorf("memory: %s: %w: one holding may reach %d bytes, the account has %d", name, ErrShare, most, share)
	}
	a := &Account{name: name, share: share, most: most}
	return a, b.add(name, share, a.Used)
}

// Bound reserves a share, in bytes, for a part that bounds itself. used returns how many bytes the part holds; it may
// be called at any time. Bound returns an error that wraps ErrShare if the budget has less than share left.
func (b *Budget) Bound(name string, share int64, used func() int64) error {
	return b.add(name, share, used)
}

// Count adds a part without a share and without a bound to the table, for what grows with the known part of the web.
func (b *Budget) Count(name string, used func() int64) { _ = b.add(name, 0, used) }

// add adds a line to the table. It replaces the line of a part with the same name, but the shares of both stay taken.
func (b *Budget) add(name string, share int64, used func() int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shares+share > b.size {
		return fmt.Errorf("memory: %s: %w: it needs %d bytes, and %d of %d are left", name, ErrShare, share, b.size-b.shares, b.size)
	}
	b.shares += share
	b.parts = slices.DeleteFunc(b.parts, func(p part) bool { return p.name == name })
	b.parts = append(b.parts, part{name, used})
	return nil
}

// Usage is how many bytes of a budget each part holds.
type Usage struct {
	BudgetBytes int64            `json:"budget_bytes"`
	UsedBytes   int64            `json:"used_bytes"` // the sum of By
	By          map[string]int64 `json:"by"`
}

// Names returns the names of all parts, sorted.
func (u Usage) Names() []string {
	names := make([]string, 0, len(u.By))
	for name := range u.By {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// Usage returns how many bytes each part holds now.
func (b *Budget) Usage() Usage {
	b.mu.Lock()
	parts := slices.Clone(b.parts)
	b.mu.Unlock()
	u := Usage{BudgetBytes: b.size, By: make(map[string]int64, len(parts))}
	for _, p := range parts {
		n := p.used()
		u.By[p.name] = n
		u.UsedBytes += n
	}
	return u
}

// An Account is the share of one part of the program. Bytes are charged to it before they are held. Safe for concurrent
// use.
type Account struct {
	name        string
	share, most int64

	mu       sync.Mutex // guards what follows, and all holdings' fields
	used     int64      // by holdings without the reserve
	reserved *Holding   // the holding that has the reserve
	waiting  []*waiter  // longest wait first
}

// waiter is a holding that wants to grow.
type waiter struct {
	h     *Holding
	bytes int64
	ready chan struct{}
}

// Share returns the bytes of the account.
func (a *Account) Share() int64 { return a.share }

// Most returns how many bytes one holding may have.
func (a *Account) Most() int64 { return a.most }

// Used returns how many bytes all holdings have together.
func (a *Account) Used() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reserved != nil {
		return a.used + a.reserved.bytes
	}
	return a.used
}

// Contended reports whether a holding waits for room.
func (a *Account) Contended() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) > 0
}

// A Holding is the bytes of an account that one page or one answer has. Account.Hold returns one; the zero value
// belongs to no account and holds nothing. Only one goroutine at a time may call its methods.
type Holding struct {
	a     *Account
	bytes int64
}

// Hold returns an empty holding.
func (a *Account) Hold() *Holding { return &Holding{a: a} }

// Bytes returns how many bytes are held.
func (h *Holding) Bytes() int64 {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return h.bytes
}

// TryGrow takes n more bytes and returns true, if they are free and no other holding waits for them.
func (h *Holding) TryGrow(n int64) bool {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return h.grow(n, len(h.a.waiting) == 0)
}

// Grow takes n more bytes. It waits until they are free, or returns the error of ctx when ctx ends. It returns an error
// that wraps ErrShare if the holding would have more than Most. After an error the holding is unchanged.
func (h *Holding) Grow(ctx context.Context, n int64) error {
	a := h.a
	a.mu.Lock()
	if h.bytes+n > a.most {
		defer a.mu.Unlock()
		return fmt.Errorf("memory: %s: %w: %d bytes and %d more, at most %d for one", a.name, ErrShare, h.bytes, n, a.most)
	}
	if h.grow(n, len(a.waiting) == 0) {
		a.mu.Unlock()
		return nil
	}
	w := &waiter{h: h, bytes: n, ready: make(chan struct{})}
	a.waiting = append(a.waiting, w)
	a.admit()
	a.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-w.ready: // it was served at the same moment: give the bytes back
		h.shrink(n)
	default:
		a.waiting = slices.DeleteFunc(a.waiting, func(other *waiter) bool { return other == w })
	}
	a.admit()
	return ctx.Err()
}

// grow takes n bytes if the account has them: from the reserve, if this holding has it, else from the common part, if
// common is set.
func (h *Holding) grow(n int64, common bool) bool {
	a := h.a
	switch {
	case h.bytes+n > a.most:
		return false
	case a.reserved == h:
	case common && a.used+n <= a.share-a.most:
		a.used += n
	default:
		return false
	}
	h.bytes += n
	return true
}

// Resize changes the holding to n bytes. It gives back the rest, or grows as Grow does.
func (h *Holding) Resize(ctx context.Context, n int64) error {
	held := h.Bytes()
	if n > held {
		return h.Grow(ctx, n-held)
	}
	h.Shrink(held - n)
	return nil
}

// Shrink gives n bytes back. It panics if the holding has fewer.
func (h *Holding) Shrink(n int64) {
	a := h.a
	if a == nil || n == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h.shrink(n)
	a.admit()
}

// Release gives all bytes back. It may be called several times, and on nil.
func (h *Holding) Release() {
	if h == nil || h.a == nil {
		return
	}
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	h.shrink(h.bytes)
	h.a.admit()
}

func (h *Holding) shrink(n int64) {
	if n < 0 || n > h.bytes {
		panic(fmt.Sprintf("memory: %s: shrink by %d of %d bytes", h.a.name, n, h.bytes))
	}
	h.bytes -= n
	switch {
	case h.a.reserved != h:
		h.a.used -= n
	case h.bytes == 0:
		h.a.reserved = nil
	}
}

// admit serves the waiting holdings in order while there is room. The first one without room gets the reserve, if the
// reserve is free.
func (a *Account) admit() {
	for len(a.waiting) > 0 {
		w := a.waiting[0]
		if !w.h.grow(w.bytes, true) {
			if a.reserved != nil {
				return
			}
			a.used -= w.h.bytes
			a.reserved = w.h
			w.h.bytes += w.bytes
		}
		close(w.ready)
		a.waiting = a.waiting[1:]
	}
}
