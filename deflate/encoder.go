package deflate

import (
	"encoding/binary"
	"hash/crc32"
)

// Encoder keeps what compressing a message takes for the next one, some 100 KiB. The zero value is
// ready. It is not safe for concurrent use.
type Encoder struct {
	seen      [1 << tableBits]uint16 // where bytes of that hash were last met in the block
	sequences []sequence
	text      []byte // their literals
	counts    counts
	fixed     codes
	own       ownCodes
	out       writer
}

// counts are how often each symbol is in a block.
type counts struct {
	literals  [literalCodes]uint32
	distances [distanceCodes]uint32
}

// blockSize is the most that a block may have: positions in it fit into 16 bits, and so does the length
// of a stored one.
const blockSize = 1<<16 - 1

// AppendGzip appends message as one gzip member, without a name or time. Equal messages give equal
// members, whatever the encoder has compressed before. O(len(message)).
func (e *Encoder) AppendGzip(dst, message []byte) []byte {
	const fastest, unknownSystem = 4, 255
	dst = append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, fastest, unknownSystem)
	dst = e.appendBlocks(dst, message)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(message))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(message)))
}

// appendBlocks appends message as a stream of blocks.
func (e *Encoder) appendBlocks(dst, message []byte) []byte {
	e.out.begin(dst)
	for {
		block := message[:min(len(message), blockSize)]
		message = message[len(block):]
		e.findMatches(block)
		e.writeBlock(block, len(message) == 0)
		if len(message) == 0 {
			return e.out.end()
		}
	}
}
