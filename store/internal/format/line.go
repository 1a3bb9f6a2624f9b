package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendLine appends one of the store's own types as a line: the CRC-32C of the rest, a space, and JSON.
func AppendLine(dst []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("store: encode %T: %v", v, err))
	}
	return append(fmt.Appendf(dst, "%08x %s", crc32.Checksum(text, castagnoli), text), '\n')
}

// DecodeLine decodes a line of AppendLine. It reports whether the line is valid; if not, v may be changed all the
// same.
func DecodeLine(line []byte, v any) bool {
	sum, text, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	return ok && err == nil && crc32.Checksum(text, castagnoli) == uint32(want) && json.Unmarshal(text, v) == nil
}
