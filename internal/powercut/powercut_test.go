package powercut

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Each change has a cut, in which what was synced before is and nothing else.
func TestDisk(t *testing.T) {
	d := Watch(vfs.NewCrashableMem(), 0)
	write := func(text string) {
		t.Helper()
		f, err := d.Create("f", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []func() error{
			func() error { _, err := f.Write([]byte(text)); return err },
			f.Sync,
			f.Close,
			func() error {
				root, err := d.OpenDir("")
				if err != nil {
					return err
				}
				defer root.Close()
				return root.Sync()
			},
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func(c Cut) string {
		t.Helper()
		f, err := c.Disk.Open("f")
		if err != nil {
			return "no file"
		}
		defer f.Close()
		text := make([]byte, 10)
		n, _ := f.Read(text)
		return string(text[:n])
	}

	write("one")
	d.Promise(1)
	first := d.Take()
	write("two")
	second := d.Take()
	if len(first) < 3 || len(second) < 3 || len(d.Take()) > 0 {
		t.Fatalf("%d and %d cuts: want one for each change, once", len(first), len(second))
	}
	for _, c := range first {
		if got := left(c); got != "no file" || c.Promised != 0 {
			t.Errorf("before %s: %q is left, %d promised; want nothing of what no sync has kept", c.Before, got, c.Promised)
		}
	}
	for i, c := range second {
		if got := left(c); c.Promised != 1 || i == 0 && got != "one" {
			t.Errorf("before %s: %q is left, %d promised; want what was synced", c.Before, got, c.Promised)
		}
	}
}
