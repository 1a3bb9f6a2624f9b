package transfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"freshet/log"
	"freshet/store"
	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/store/warc"
	"freshet/weburl"
)

// ExportPartition writes partition p, as it is when the call begins, with its captures, as one stream for
// ImportPartition. It reads every WARC file once and copies the compressed members of the partition's URLs. The
// store may be written to meanwhile.
func ExportPartition(s *store.Store, p weburl.Partition, w io.Writer) error {
	_, err := SnapshotPartition(s, p, "", w)
	return err
}

// SnapshotPartition is ExportPartition for a partition of a cluster. The stream has the cluster's name. It returns
// the place in the cluster's log that corresponds to the stream.
func SnapshotPartition(s *store.Store, p weburl.Partition, cluster string, w io.Writer) (log.Place, error) {
	in := s.Inside()
	if int(p) >= in.Partitions() {
		return log.Place{}, fmt.Errorf("store: export: partition %d: want one below %d", p, in.Partitions())
	}
	defer in.HoldFiles()()
	snapshot := in.DB.NewSnapshot()
	var counters store.Counters
	err := format.Read(snapshot, in.Keys.AppendKind(nil, p, format.KeyCounters), &counters)
	if errors.Is(err, format.ErrNotFound) {
		err = nil
	}
	if err == nil {
		err = export(in, snapshot, w, streamHeader{store.Format, in.Crawl, in.Partitions(), p, cluster, counters.Place})
	}
	return counters.Place, errors.Join(err, snapshot.Close())
}

func export(in store.Inside, db pebble.Reader, w io.Writer, h streamHeader) error {
	p := h.Partition
	out := newFrameWriter(w)
	out.write([]byte(streamMagic))
	out.frame(frameHeader, format.AppendValue(nil, h))
	down, err := in.BegunIn(db)
	if err != nil {
		return err
	}
	if err := exportCaptures(in, p, store.Hits(down), out); err != nil {
		return err
	}
	from, to := in.Keys.PartitionSpan(p)
	var pair []byte
	err = database.Scan(db, from, to, func(key, value []byte) error {
		key = key[len(from):]
		pair = binary.BigEndian.AppendUint16(pair[:0], uint16(len(key)))
		pair = append(append(pair, key...), value...)
		out.frame(framePair, pair)
		return out.err
	})
	if err != nil {
		return err
	}
	return out.end()
}

// exportCaptures writes the members of p's URLs from all WARC files, except for those that a purge will delete.
func exportCaptures(in store.Inside, p weburl.Partition, down func(target string) bool, out *frameWriter) error {
	paths, err := in.Files()
	if err != nil {
		return err
	}
	for _, path := range paths {
		err := exportFile(in, p, path, down, out)
		if strings.HasSuffix(path, ".open") && errors.Is(err, io.ErrUnexpectedEOF) {
			continue // the open file ends in captures after the snapshot
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func exportFile(in store.Inside, p weburl.Partition, path string, down func(target string) bool, out *frameWriter) (err error) {
	r, err := in.OpenFile(path)
	if err != nil {
		return fmt.Errorf("store: export: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var frame []byte
	for {
		record, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("store: export: %w", err)
		}
		target, _ := weburl.Parse(record.TargetURI)
		length, err := r.Finish()
		if err != nil {
			return fmt.Errorf("store: export: %w", err)
		}
		if target.IsZero() || in.Home(target.Site()) != p || down(record.TargetURI) {
			continue
		}
		at := warc.Pointer{File: strings.TrimSuffix(in.FS.PathBase(path), ".open"), Offset: r.Offset(), Length: length}
		if frame, err = appendCapture(in, frame[:0], at); err != nil {
			return err
		}
		if out.frame(frameCapture, frame); out.err != nil {
			return out.err
		}
	}
}

func appendCapture(in store.Inside, frame []byte, at warc.Pointer) ([]byte, error) {
	pointer := format.AppendValue(nil, store.Pointer{File: at.File, Offset: at.Offset, Length: at.Length})
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(pointer)))
	return in.Member(append(frame, pointer...), at)
}
