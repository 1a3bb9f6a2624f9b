package growth

import (
	"context"

	"freshet/weburl"
)

// tryDrains decides other numbers of links at once, on the stream that reaches the disk. The more questions are
// sorted and asked together, the nearer to each other are their places in filters and files, and the more memory
// waits with them.
func (b *bench) tryDrains(ctx context.Context) error {
	for _, drain := range b.drains {
		if err := b.reopen(int(drain)); err != nil {
			return err
		}
		reads := b.freshet.test.Stats().Reads
		f, err := b.try(ctx, byFreshet, "uniform", max(b.urls, 2*int(drain)), b.known, b.freshet.ask)
		if err != nil {
			return err
		}
		stats := b.freshet.test.Stats()
		b.row(f, "drain", int(drain), "delay_p99_s", b.freshet.delay(), "reads_per_url", float64(stats.Reads-reads)/float64(f.urls),
			"drain_memory_bytes_per_url", b.memory())
	}
	return nil
}

// reopen opens the test again, now with drains of so many links.
func (b *bench) reopen(drain int) (err error) {
	if err := b.freshet.close(); err != nil {
		return err
	}
	b.links = make([]weburl.Link, max(chunk, 2*drain))
	b.freshet, err = openFreshet(b.folder, 2*drain)
	return err
}
