package replay

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadHistoriesErrors(t *testing.T) {
	header := "site,page,alive,end,times\n"
	row := "s,a/b.html,1,100,10 20\n"
	tests := []struct{ name, file, text, want string }{
		{"good", "h.csv", header + row, ""},
		{"quoted", "h.csv", header + "s,\"a,b\",0,100,10\n", ""},
		{"empty", "h.csv", "", "h.csv"},
		{"header alone", "h.csv", header, "no histories"},
		{"columns", "h.csv", "site,page,end,times\n", `:1: columns "site,page,end,times": want "site,page,alive,end,times"`},
		{"short row", "h.csv", header + row + "s,p,1,100\n", ":3: 4 columns: want 5"},
		{"alive", "h.csv", header + "s,p,yes,100,10\n", `:2: column 3 (alive): "yes"`},
		{"unsorted", "h.csv", header + row + "s,p,1,100,10 30 20\n", ":3: column 5 (times): time 20 is not after the one before it, 30"},
		{"repeated", "h.csv", header + "s,p,1,100,10 10\n", ":2: column 5 (times)"},
		{"negative", "h.csv", header + "s,p,1,100,-10\n", `:2: column 5 (times): time "-10"`},
		{"not a number", "h.csv", header + "s,p,1,NaN,10\n", `:2: column 4 (end): time "NaN"`},
		{"after the end", "h.csv", header + "s,p,0,100,10 200\n", ":2: column 5 (times): time 200 is after the end, 100"},
		{"no times", "h.csv", header + "s,p,0,100,\n", ":2: column 5 (times)"},
		{"quote", "h.csv", header + "s,\"p,0,100,1\n", ":2:"},
		{"not compressed", "h.csv.gz", header + row, "not gzip"},
		{"truncated", "h.csv.gz", compressed(header + strings.Repeat(row, 1000))[:60], "truncated"},
		{"compressed", "h.csv.gz", compressed(header + row), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), test.file)
			if err := os.WriteFile(name, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadHistories(name)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.file)):
				t.Errorf("error %v: want it to contain %q and the file", err, test.want)
			}
		})
	}
}

func compressed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

func FuzzReadHistories(f *testing.F) {
	f.Add("s,a/b.html,1,100,10 20\n")
	f.Add("s,\"a,b\",0,1e3,10\n")
	f.Fuzz(func(t *testing.T, rows string) {
		name := filepath.Join(t.TempDir(), "h.csv")
		if err := os.WriteFile(name, []byte("site,page,alive,end,times\n"+rows), 0o600); err != nil {
			t.Fatal(err)
		}
		histories, err := ReadHistories(name)
		if err != nil {
			return
		}
		w := NewWorld(histories, 1000, 500, 1)
		for _, l := range w.Lives {
			if !(l.Born >= 0 && l.Born < l.End && l.End <= 1000) {
				t.Errorf("a life from %v to %v", l.Born, l.End)
			}
		}
	})
}
