package node

import (
	"context"
	"fmt"
	"runtime/debug"

	"freshet/fetch"
	"freshet/store"
)

// crash is a panic in the work for one page, one site or one background job.
type crash struct {
	cause any
	stack []byte
}

// Error returns the cause, shortened: it may quote the page.
func (c *crash) Error() string { return fmt.Sprintf("crash: %.200s", fmt.Sprint(c.cause)) }

// contain calls do, recovers a panic, and returns it as a crash.
func contain(do func()) (c *crash) {
	defer func() {
		if cause := recover(); cause != nil {
			c = &crash{cause, debug.Stack()}
		}
	}()
	do()
	return nil
}

// inBackground does work that the crawl does not depend on. A failure or panic is logged and counted, and the work
// is tried again when it is next due. A failure after the end of ctx does not count.
func (n *Node) inBackground(ctx context.Context, work string, do func() error) (err error) {
	var stack []byte
	if c := contain(func() { err = do() }); c != nil {
		if fatal := store.Fatal(c.cause); fatal != nil {
			n.fail(fatal)
			return fatal
		}
		err, stack = c, c.stack
	}
	if err == nil || ctx.Err() != nil || n.broken() {
		return err
	}
	n.tally.countBackground(work)
	n.opt.Logger.Error("background work failed and will be tried again", "work", work, "error", err,
		"stack", string(stack))
	return err
}

// crashed marks a result as one on which the crawler failed. If the database caused the panic, the crawl ends.
func (n *Node) crashed(r *fetch.Result, c *crash) {
	if err := store.Fatal(c.cause); err != nil {
		n.fail(err)
	}
	n.opt.Logger.Error("a page crashed its fetch or its processing and is not stored", "url", r.URL.String(),
		"error", c, "stack", string(c.stack))
	r.Outcome, r.Err = fetch.Crashed, c
}
