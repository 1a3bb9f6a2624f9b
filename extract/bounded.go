package extract

import "io"

// readAll reads a stream to its end, or at most limit bytes. whole means that it reached the end. expected is the
// likely length. It calls room before it takes memory beyond the first freeBytes. The error is that of the stream or of
// room.
func readAll(in io.Reader, expected, limit int64, room func(bytes int64) error) (data []byte, whole bool, err error) {
	granted := min(max(expected, 512), freeBytes, limit+1)
	data = make([]byte, 0, granted)
	for {
		n, err := in.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return data[:limit], false, nil
		case err == io.EOF:
			return data, true, nil
		case err != nil:
			return data, false, err
		case len(data) < cap(data):
			continue
		}
		more := min(max(granted, expected-granted), limit+1-granted)
		if err := room(more); err != nil {
			return data, false, err
		}
		granted += more
		data = append(make([]byte, 0, granted), data...)
	}
}
