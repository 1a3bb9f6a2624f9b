package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"freshet/internal/powercut"
	"freshet/weburl"
)

// small returns options with which a set of a few URLs flushes and merges.
func small(fs vfs.FS) Options {
	return Options{FS: fs, tableEntries: 40, segmentEntries: 100}
}

// grow adds n new URLs from number first on, and keeps them with a mark.
func grow(s *Set, first, n int, mark uint64) error {
	for i := range n {
		e := nth(uint64(first + i))
		e.Value = uint32(i % 5)
		s.Add(e, true)
	}
	return s.Keep(map[weburl.Partition]uint64{7: mark})
}

// knows returns how many of the first n URLs the set knows.
func knows(s *Set, n int) (known int, err error) {
	questions, answers := make([]Entry, n), make([]Answer, n)
	for i := range questions {
		questions[i] = nth(uint64(i))
		questions[i].Value = uint32(i)
	}
	err = s.Lookup(questions, answers)
	for _, a := range answers {
		if a.Known {
			known++
		}
	}
	return known, err
}

// TestCrashAtEveryWrite crashes before every write and sync of journals, flushes and merges. It loses all unsynced
// data, or keeps some of it. The set is always whole: that of the last Keep that returned, or of the Keep in progress.
func TestCrashAtEveryWrite(t *testing.T) {
	const rounds, perRound = 60, 20
	for _, percent := range []int{0, 50} {
		disk := powercut.Watch(vfs.NewCrashableMem(), percent)
		s, _, err := Open("set", small(disk))
		if err != nil {
			t.Fatal(err)
		}
		for round := range rounds {
			if err := grow(s, round*perRound, perRound, uint64(round+1)); err != nil {
				t.Fatal(err)
			}
			disk.Promise(round + 1)
		}
		if err := errors.Join(s.Settle(), s.Close()); err != nil {
			t.Fatal(err)
		}
		merges, cuts := 0, disk.Take()
		for i, cut := range cuts {
			if strings.HasSuffix(cut.Before, ".run") {
				merges++
			}
			s, lost, err := Open("set", small(cut.Disk))
			if err != nil {
				t.Fatalf("cut %d (%s): %v", i, cut.Before, err)
			}
			got := int(s.Marks()[7])
			if got != cut.Promised && got != cut.Promised+1 || lost != (got == 0) || s.Known() != int64(got*perRound) {
				t.Errorf("cut %d (%s): lost %v, %d rounds, %d known; want %d rounds or one more", i, cut.Before, lost, got, s.Known(), cut.Promised)
			}
			if known, err := knows(s, rounds*perRound); err != nil || known != got*perRound {
				t.Errorf("cut %d (%s): knows %d, %v; want %d", i, cut.Before, known, err, got*perRound)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if merges < 100 {
			t.Errorf("%d of %d cuts in runs: want 100", merges, len(cuts))
		}
	}
}

// TestDamage damages each kind of file. The set finds the damage when it opens or when it reads the place. It names the
// damage, and the set is lost.
func TestDamage(t *testing.T) {
	change := func(where func(size int) int) func([]byte) []byte {
		return func(b []byte) []byte { b[where(len(b))] ^= 4; return b }
	}
	for _, test := range []struct {
		name   string
		suffix string
		damage func([]byte) []byte // nil: the file is removed
		named  string
	}{
		{"bit of a block", ".run", change(func(int) int { return 100 }), "block's checksum differs"},
		{"bit of a head", ".run", change(func(n int) int { return n * 3 / 4 }), "checksum differs"},
		{"bit of a directory", ".run", change(func(n int) int { return n - 60 }), "directory's checksum differs"},
		{"bit of a footer", ".run", change(func(n int) int { return n - 1 }), "no end of a run"},
		{"torn run", ".run", func(b []byte) []byte { return b[:len(b)/2] }, "no end of a run"},
		{"empty run", ".run", func([]byte) []byte { return nil }, "file is cut"},
		{"missing run", ".run", nil, "a file is missing"},
		{"bit of a manifest", manifestName, change(func(n int) int { return n / 2 }), "manifest: checksum differs"},
		{"missing journal", ".log", nil, "a file is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fs := vfs.NewMem()
			s, _, err := Open("set", small(fs))
			if err != nil {
				t.Fatal(err)
			}
			for round := range 5 {
				if err := errors.Join(grow(s, 40*round, 40, 1), s.Settle()); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			damageFile(t, fs, test.suffix, test.damage)

			var told strings.Builder
			opt := small(fs)
			opt.Logger = logTo(&told)
			s, lost, err := Open("set", opt)
			if err != nil {
				t.Fatal(err)
			}
			if !lost {
				if _, err := knows(s, 200); !errors.Is(err, ErrDamaged) {
					t.Errorf("Lookup: %v, want ErrDamaged", err)
				}
				if err := s.Keep(nil); !errors.Is(err, ErrDamaged) {
					t.Errorf("Keep: %v, want ErrDamaged", err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if s, lost, err = Open("set", opt); err != nil || !lost {
					t.Fatalf("opened again: lost %v, %v", lost, err)
				}
			}
			if !strings.Contains(told.String(), test.named) {
				t.Errorf("told %q: want it to name %q", told.String(), test.named)
			}
			if known, err := knows(s, 200); known != 0 || err != nil || s.Known() != 0 {
				t.Errorf("the lost set knows %d, %v", known, err)
			}
			if err := grow(s, 0, 10, 1); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// damageFile changes or removes a file whose name ends with suffix.
func damageFile(t *testing.T, fs vfs.FS, suffix string, damage func([]byte) []byte) {
	names, err := fs.List("set")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		path := fs.PathJoin("set", name)
		content, err := readFile(fs, path, 1<<30)
		if err == nil {
			err = fs.Remove(path)
		}
		if err == nil && damage != nil {
			err = writeFile(fs, path, damage(content))
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no %s to damage", suffix)
}

// TestDiskFull holds that the set returns an error if the disk is full during a journal's write, a flush or a merge.
// Nothing that it kept is lost.
func TestDiskFull(t *testing.T) {
	const perRound = 20
	for _, suffix := range []string{".log", ".run", ".new"} {
		for _, after := range []int{0, 3, 10} {
			t.Run(fmt.Sprintf("%s/%d", suffix[1:], after), func(t *testing.T) {
				disk := vfs.NewMem()
				left := after
				var mu sync.Mutex
				full := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
					mu.Lock()
					defer mu.Unlock()
					if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, suffix) {
						if left--; left < 0 {
							return syscall.ENOSPC
						}
					}
					return nil
				})}
				s, _, err := Open("set", small(errorfs.Wrap(disk, &full)))
				if err != nil {
					t.Fatal(err)
				}
				full.On()
				kept := 0
				for err == nil && kept < 200 {
					if err = grow(s, kept*perRound, perRound, uint64(kept+1)); err == nil {
						kept++
						err = s.Settle()
					}
				}
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("after %d rounds: %v, want ENOSPC", kept, err)
				}
				full.Off()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				s, lost, err := Open("set", small(disk))
				if err != nil {
					t.Fatal(err)
				}
				got := int(s.Marks()[7])
				if known, err := knows(s, (kept+1)*perRound); lost != (got == 0) || got < kept || got > kept+1 || known != got*perRound || err != nil {
					t.Errorf("lost %v, %d rounds, knows %d, %v; want %d rounds or one more", lost, got, known, err, kept)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestResetTriesAgain holds that a set keeps nothing after a Reset that the disk refused. Another Reset repairs it.
func TestResetTriesAgain(t *testing.T) {
	full := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	})}
	s, _, err := Open("set", small(errorfs.Wrap(vfs.NewMem(), &full)))
	if err != nil {
		t.Fatal(err)
	}
	full.On()
	for _, err := range []error{s.Reset(), s.Keep(nil), grow(s, 0, 5, 1)} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v, want ENOSPC", err)
		}
	}
	full.Off()
	if err := errors.Join(s.Reset(), s.Filled(nil), grow(s, 0, 50, 1)); err != nil {
		t.Error(err)
	}
	if known, err := knows(s, 60); known != 50 || s.Known() != 50 || err != nil {
		t.Errorf("knows %d, says %d, %v; want 50", known, s.Known(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOtherFormat holds that Open reports a set lost if it has another format or number of partitions, and removes its
// files.
func TestOtherFormat(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("set", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(fs, "set/MANIFEST-000001", []byte("of a database")); err != nil {
		t.Fatal(err)
	}
	s, lost, err := Open("set", small(fs))
	if err != nil || !lost {
		t.Fatalf("lost %v, %v", lost, err)
	}
	if _, err := fs.Stat("set/MANIFEST-000001"); err == nil {
		t.Error("the old file is still there")
	}
	if err := errors.Join(grow(s, 0, 1, 1), s.Close()); err != nil {
		t.Fatal(err)
	}
	opt := small(fs)
	opt.Partitions = 17
	s, lost, err = Open("set", opt)
	if err != nil || !lost {
		t.Fatalf("with another number of partitions: lost %v, %v", lost, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func logTo(w *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
