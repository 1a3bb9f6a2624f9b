package table

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// parquetRow is a row with a column of each kind.
type parquetRow struct {
	URL     string    `parquet:"url"`
	Weight  *float64  `parquet:"weight,optional"`
	Process string    `parquet:"process"`
	Rate    float64   `parquet:"rate"`
	Max     int32     `parquet:"max"`
	Times   []float64 `parquet:"times,list"`
	Likely  []float64 `parquet:"probabilities,list"`
}

// FuzzParquet holds that damage is an error.
func FuzzParquet(f *testing.F) {
	var file bytes.Buffer
	if err := parquet.Write(&file, []parquetRow{{URL: "http://a.test/", Rate: 1}}); err != nil {
		f.Fatal(err)
	}
	f.Add(0, byte(1))
	f.Fuzz(func(t *testing.T, at int, flip byte) {
		damaged := bytes.Clone(file.Bytes())
		damaged[max(at, -at-1)%len(damaged)] ^= flip
		name := filepath.Join(t.TempDir(), "pages.parquet")
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := Open(name, nil, []string{"url", "weight", "process", "rate", "max", "times", "probabilities"})
		if err != nil {
			return
		}
		defer rows.Close()
		for range 10 {
			if more, err := rows.Next(); !more || err != nil {
				return
			}
		}
	})
}
