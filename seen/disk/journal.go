package disk

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/weburl"
)

// journal is the file that Keep appends to: what is in no run yet. A frame is the content of one Keep, and counts
// whole or not at all:
//
//	length, checksum: 4 bytes each │ known: 8 │ marks: 4 │ marks × (partition: 2, record: 8)
//	│ entries × (fingerprint: 8, partition: 2, check: 1, depth: 2)
//
// Numbers are little-endian; length and checksum are those of the rest.
type journal struct {
	number uint32
	path   string
	file   vfs.File
	size   int64
}

const (
	frameHead  = 8
	markLen    = 10
	entryLen   = 13
	maxJournal = 1 << 30
)

func journalName(number uint32) string { return fmt.Sprintf("%08d.log", number) }

func createJournal(fs vfs.FS, dir string, number uint32) (*journal, error) {
	j := &journal{number: number, path: fs.PathJoin(dir, journalName(number))}
	file, err := fs.Create(j.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("seen: create journal %s: %w", j.path, err)
	}
	j.file = file
	return j, syncDir(fs, dir)
}

// append adds a frame, which is on disk when append returns.
func (j *journal) append(frame []byte) error {
	j.size += int64(len(frame))
	_, err := j.file.Write(frame)
	if err == nil {
		err = j.file.SyncData()
	}
	if err != nil {
		return fmt.Errorf("seen: write journal %s: %w", j.path, err)
	}
	return nil
}

// appendFrame appends a frame to dst. Marks go in order of partition.
func appendFrame(dst []byte, s state, entries []Entry) []byte {
	dst = append(dst, make([]byte, frameHead)...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Known))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.Marks)))
	partitions := make([]weburl.Partition, 0, len(s.Marks))
	for p := range s.Marks {
		partitions = append(partitions, p)
	}
	slices.Sort(partitions)
	for _, p := range partitions {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(p))
		dst = binary.LittleEndian.AppendUint64(dst, s.Marks[p])
	}
	for _, e := range entries {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.Fingerprint))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(e.Partition))
		dst = append(dst, e.Check)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(e.Value))
	}
	content := dst[frameHead:]
	binary.LittleEndian.PutUint32(dst, uint32(len(content)))
	binary.LittleEndian.PutUint32(dst[4:], checksum(0, 0, content))
	return dst
}

// replay calls entry for all entries of a journal's content and updates s to its last frame. It returns the length of
// the whole frames.
func replay(content []byte, s *state, entry func(Entry)) (whole int) {
	for {
		rest := content[whole:]
		if len(rest) < frameHead {
			return whole
		}
		length := int(binary.LittleEndian.Uint32(rest))
		if length > len(rest)-frameHead {
			return whole
		}
		frame := rest[frameHead : frameHead+length]
		if binary.LittleEndian.Uint32(rest[4:]) != checksum(0, 0, frame) || !replayFrame(frame, s, entry) {
			return whole
		}
		whole += frameHead + length
	}
}

// replayFrame reports whether the lengths in the frame are consistent; if not, it has no effect.
func replayFrame(frame []byte, s *state, entry func(Entry)) bool {
	if len(frame) < 12 {
		return false
	}
	known, marks := binary.LittleEndian.Uint64(frame), int(binary.LittleEndian.Uint32(frame[8:]))
	frame = frame[12:]
	if marks > len(frame)/markLen || (len(frame)-marks*markLen)%entryLen != 0 {
		return false
	}
	s.Known = int64(known)
	for ; marks > 0; marks, frame = marks-1, frame[markLen:] {
		s.Marks[weburl.Partition(binary.LittleEndian.Uint16(frame))] = binary.LittleEndian.Uint64(frame[2:])
	}
	for ; len(frame) > 0; frame = frame[entryLen:] {
		entry(Entry{
			Fingerprint: weburl.Fingerprint(binary.LittleEndian.Uint64(frame)),
			Partition:   weburl.Partition(binary.LittleEndian.Uint16(frame[8:])),
			Check:       frame[10],
			Value:       uint32(binary.LittleEndian.Uint16(frame[11:])),
		})
	}
	return true
}
