package seen

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/internal/powercut"
	"freshet/weburl"
)

// TestCrashAtEveryWrite crashes before every write and sync in turn, with all unsynced data lost and with some of it
// kept. The set is always whole: that of the last Keep that returned, or of the Keep in progress.
func TestCrashAtEveryWrite(t *testing.T) {
	const rounds, perRound = 8, 5
	for _, percent := range []int{0, 50} {
		disk := powercut.Watch(vfs.NewCrashableMem(), percent)
		test, err := Open("seen", Options{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		for round := range rounds {
			var links []weburl.Link
			for i := range perRound {
				links = append(links, page(round*perRound+i+1))
			}
			offer(t, test, Mark{7, uint64(round + 1)}, links...)
			drain(t, test)
			if err := test.Keep(); err != nil {
				t.Fatal(err)
			}
			disk.Promise(round + 1)
		}
		if err := test.Close(); err != nil {
			t.Fatal(err)
		}
		cuts := disk.Take()
		if len(cuts) < 3*rounds {
			t.Fatalf("%d writes seen", len(cuts))
		}
		for i, c := range cuts {
			checkCut(t, i, c, perRound)
		}
	}
}

func checkCut(t *testing.T, i int, c powercut.Cut, perRound int) {
	t.Helper()
	test, err := Open("seen", Options{FS: c.Disk})
	if err != nil {
		t.Fatalf("cut %d (%s): %v", i, c.Before, err)
	}
	defer test.Close()
	got := 0
	if marks := test.Marks(); len(marks) == 1 {
		got = int(marks[0].Record)
	}
	if got != c.Promised && got != c.Promised+1 {
		t.Errorf("cut %d (%s): %d rounds of Keep found, want %d or one more", i, c.Before, got, c.Promised)
	}
	if test.Lost() != (got == 0) {
		t.Errorf("cut %d (%s): Lost %v after %d rounds", i, c.Before, test.Lost(), got)
	}
	if known := test.Known(); known != int64(got*perRound) {
		t.Errorf("cut %d (%s): %d known, want %d", i, c.Before, known, got*perRound)
	}
	var links []weburl.Link
	for n := range (c.Promised + 2) * perRound {
		links = append(links, page(n+1))
	}
	offer(t, test, Mark{}, links...)
	words := strings.Fields(drain(t, test))
	if len(words) != len(links)-got*perRound || slices.ContainsFunc(words, func(w string) bool { return w[0] != '+' }) {
		t.Errorf("cut %d (%s): with %d rounds kept, new is %v", i, c.Before, got, words)
	}
}

// TestCrashInRebuild crashes before every write of a Rebuild. The set is then lost, or it is the new one.
func TestCrashInRebuild(t *testing.T) {
	disk := powercut.Watch(vfs.NewCrashableMem(), 0)
	test := open(t, Options{FS: disk})
	offer(t, test, Mark{0, 1}, pages(1, 2, 3)...)
	drain(t, test)
	if err := test.Keep(); err != nil {
		t.Fatal(err)
	}
	disk.Take()
	if err := test.Rebuild(slices.Values(pages(5, 6)), []Mark{{0, 2}}); err != nil {
		t.Fatal(err)
	}
	for i, c := range disk.Take() {
		again, err := Open("seen", Options{FS: c.Disk})
		if err != nil {
			t.Fatalf("cut %d (%s): %v", i, c.Before, err)
		}
		marks := again.Marks()
		switch {
		case again.Lost():
			if len(marks) > 0 || again.Known() > 0 {
				t.Errorf("cut %d (%s): lost, with marks %v and %d known", i, c.Before, marks, again.Known())
			}
		case slices.Equal(marks, []Mark{{0, 1}}) && again.Known() == 3:
		case slices.Equal(marks, []Mark{{0, 2}}) && again.Known() == 2:
		default:
			t.Errorf("cut %d (%s): marks %v, %d known", i, c.Before, marks, again.Known())
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDamagedSet holds that Open throws a set away and reports it lost if its files are damaged or missing.
func TestDamagedSet(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(fs *vfs.MemFS, file string) error
	}{
		{"run removed", func(fs *vfs.MemFS, file string) error { return fs.Remove(file) }},
		{"run cut", func(fs *vfs.MemFS, file string) error {
			f, err := fs.Create(file, vfs.WriteCategoryUnspecified)
			if err != nil {
				return err
			}
			_, err = f.Write([]byte("short"))
			return errors.Join(err, f.Close())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			test, err := Open("seen", Options{FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(test.Rebuild(slices.Values(pages(1)), nil), test.Close()); err != nil {
				t.Fatal(err)
			}
			files, err := fs.List("seen")
			if err != nil {
				t.Fatal(err)
			}
			damaged := 0
			for _, file := range files {
				if strings.HasSuffix(file, ".run") {
					damaged++
					if err := c.damage(fs, fs.PathJoin("seen", file)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if damaged == 0 {
				t.Fatal("no run to damage")
			}
			test = open(t, Options{FS: fs})
			if !test.Lost() || len(test.Marks()) != 0 || test.Known() != 0 {
				t.Errorf("Lost %v, marks %v, %d known; want a lost, empty set", test.Lost(), test.Marks(), test.Known())
			}
			offer(t, test, Mark{}, page(1))
			if got := drain(t, test); got != "+1" {
				t.Errorf("%q, want +1", got)
			}
		})
	}
}

// TestDiskFull holds that Keep returns an error if the disk is full. The test knows the new URLs until the restart, and
// not after it.
func TestDiskFull(t *testing.T) {
	disk := vfs.NewCrashableMem()
	full := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSync {
			return syscall.ENOSPC
		}
		return nil
	})}
	test, err := Open("seen", Options{FS: errorfs.Wrap(disk, &full)})
	if err != nil {
		t.Fatal(err)
	}
	offer(t, test, Mark{0, 1}, page(1))
	drain(t, test)
	if err := test.Keep(); err != nil {
		t.Fatal(err)
	}
	offer(t, test, Mark{0, 2}, page(2))
	drain(t, test)
	full.On()
	for range 2 {
		if err := test.Keep(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Keep on a full disk: %v, want ENOSPC", err)
		}
	}
	offer(t, test, Mark{0, 3}, page(2))
	if got := drain(t, test); got != "" {
		t.Errorf("after a failed Keep: %q, want nothing new", got)
	}
	after := disk.CrashClone(vfs.CrashCloneCfg{})
	full.Off()
	_ = test.Close() // may return the failed write's error

	again := open(t, Options{FS: after})
	if got, want := again.Marks(), []Mark{{0, 1}}; !slices.Equal(got, want) {
		t.Errorf("Marks = %v, want %v", got, want)
	}
	offer(t, again, Mark{0, 2}, pages(1, 2)...)
	if got := drain(t, again); got != "+2" {
		t.Errorf("after a restart: %q, want +2", got)
	}
}

// TestDrainTriesAgain holds that a Drain decides nothing and loses nothing if it cannot read.
func TestDrainTriesAgain(t *testing.T) {
	fs := vfs.NewMem()
	first, err := Open("seen", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	many := func(yield func(weburl.Link) bool) { // too many for one block
		for n := range 50000 {
			if n != 2 && !yield(page(n+1)) {
				return
			}
		}
	}
	if err := errors.Join(first.Rebuild(many, nil), first.Close()); err != nil {
		t.Fatal(err)
	}
	bad := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileReadAt {
			return syscall.EIO
		}
		return nil
	})}
	test, err := Open("seen", Options{FS: errorfs.Wrap(fs, &bad)})
	if err != nil {
		t.Fatal(err)
	}
	defer test.Close()
	bad.On()
	offer(t, test, Mark{0, 2}, pages(3, 25000)...)
	if _, marks, err := test.Drain(nil); !errors.Is(err, syscall.EIO) || marks != nil {
		t.Fatalf("Drain = %v, %v; want EIO", marks, err)
	}
	offer(t, test, Mark{0, 3}, pages(3, 60000)...)
	bad.Off()
	if got, want := drain(t, test)+"|"+drain(t, test), "+3|+60000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
