package growth

import (
	"context"

	"freshet/weburl"
)

// tryDrains tries other sizes of a drain, on the stream that reaches the disk. In a larger drain, sorted questions
// are closer together in filters and files, but more memory waits.
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

// reopen opens the test again, with drains of that many links.
func (b *bench) reopen(drain int) (err error) {
	if err := b.freshet.close(); err != nil {
		return err
	}
	b.links = make([]weburl.Link, max(chunk, 2*drain))
	b.freshet, err = openFreshet(b.folder, 2*drain)
	return err
}
