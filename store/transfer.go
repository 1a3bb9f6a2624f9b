package store

import (
	"context"
	"io"

	"freshet/weburl"
)

// ExportPartition writes a partition with its captures as one stream.
func (s *Store) ExportPartition(p weburl.Partition, w io.Writer) error { panic("store: not built yet") }

// ImportPartition takes in what ExportPartition wrote.
func (s *Store) ImportPartition(r io.Reader) (weburl.Partition, error) { panic("store: not built yet") }

// Problem is something that Verify found wrong.
type Problem struct{ Text string }

// Verify checks everything in the directory against everything else.
func (s *Store) Verify(ctx context.Context, report func(Problem)) error {
	panic("store: not built yet")
}
