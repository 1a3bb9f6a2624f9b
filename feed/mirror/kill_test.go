package mirror

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"freshet/feed/broadcast"
)

var errKilled = errors.New("killed")

// mortal is a disk whose program dies after a number of changes, left. It may die in the middle of a write.
type mortal struct {
	disk
	left *int
}

func (m mortal) change() error {
	if *m.left--; *m.left < 0 {
		return errKilled
	}
	return nil
}

func (m mortal) MkdirAll(name string, mode fs.FileMode) error {
	if err := m.change(); err != nil {
		return err
	}
	return m.disk.MkdirAll(name, mode)
}

func (m mortal) Rename(from, to string) error {
	if err := m.change(); err != nil {
		return err
	}
	return m.disk.Rename(from, to)
}

func (m mortal) Remove(name string) error {
	if err := m.change(); err != nil {
		return err
	}
	return m.disk.Remove(name)
}

func (m mortal) OpenFile(name string, flag int, mode fs.FileMode) (file, error) {
	if err := m.change(); err != nil {
		return nil, err
	}
	f, err := m.disk.OpenFile(name, flag, mode)
	return mortalFile{f, m}, err
}

type mortalFile struct {
	file
	of mortal
}

func (f mortalFile) Write(p []byte) (int, error) {
	if err := f.of.change(); err != nil {
		if *f.of.left == -1 {
			_, _ = f.file.Write(p[:len(p)/2])
		}
		return 0, err
	}
	return f.file.Write(p)
}

// states are the successive contents of a repository; "" is a page that has ended.
var states = []map[string]string{
	{"http://a.test/x": "one", "http://a.test/y": "one", "http://a.test/d/e": "one"},
	{"http://a.test/x": "two", "http://a.test/y": "", "http://a.test/d/e": "", "http://a.test/new": "one", "http://a.test/d": "one"},
	{"http://a.test/x": "two", "http://a.test/y": "one", "http://a.test/d/e": "", "http://a.test/new": "", "http://a.test/d": "two"},
	{"http://a.test/x": "one", "http://a.test/y": "", "http://a.test/d/e": "three", "http://a.test/new": "one", "http://a.test/d": ""},
}

// news returns the messages of a server in one state to a client that is complete up to an earlier state (-1: it
// never was, and lists its pages).
func news(f *folder, since, state int) []*broadcast.Message {
	var messages []*broadcast.Message
	for _, url := range slices.Sorted(maps.Keys(states[state])) {
		body := states[state][url]
		page := broadcast.Page{URL: url, Version: uint32(state + 1), Digest: sha1.Sum([]byte(body)), Body: []byte(body)}
		if body == "" {
			page = broadcast.Page{URL: url, Kind: "gone"}
		}
		held, has := f.pages[url]
		changed := false
		for later := max(since, 0) + 1; later <= state; later++ {
			changed = changed || states[later][url] != states[later-1][url]
		}
		if since >= 0 && changed || since < 0 && (has || body != "") && held.Digest != fmt.Sprintf("%x", page.Digest) {
			messages = append(messages, &broadcast.Message{Chunk: &broadcast.Chunk{Pages: []broadcast.Page{page}}})
		}
	}
	return append(messages, &broadcast.Message{Cursor: fmt.Sprint(state)})
}

// follow brings a mirror from its present state to another.
func follow(dir string, state int, left *int) error {
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	if left != nil {
		if err := f.close(); err != nil {
			return err
		}
		opened, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		if f, err = loadFolder(mortal{root{opened}, left}); err != nil {
			return err
		}
	}
	o := Options{Addresses: []string{"unused"}, Dir: dir, OnChange: func(Change) error { return nil }}
	c := &Client{o: o, folder: f, cursor: f.cursor(o.Interest)}
	defer f.close()
	since := -1
	if c.cursor != "" {
		since = int(c.cursor[0] - '0')
	}
	for _, m := range news(f, since, state) {
		if err := c.take(m); err != nil {
			return err
		}
	}
	return nil
}

// TestKilled kills a mirror before every change of its folder, and in the middle of every write, while the repository
// changes. After the next start the folder equals the repository.
func TestKilled(t *testing.T) {
	for state := range states[:len(states)-1] {
		for kill := 0; ; kill++ {
			dir := t.TempDir()
			for before := range state {
				if err := follow(dir, before, nil); err != nil {
					t.Fatal(err)
				}
			}
			left := kill
			err := follow(dir, state, &left)
			if err := follow(dir, state+1, nil); err != nil {
				t.Fatalf("state %d, killed before change %d: %v", state, kill, err)
			}
			checkMirror(t, dir, states[state+1], fmt.Sprintf("state %d, killed before change %d", state, kill))
			if err == nil {
				break
			}
		}
	}
}

// checkMirror compares a mirror's files with the content of a repository.
func checkMirror(t *testing.T, dir string, state map[string]string, when string) {
	t.Helper()
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	want := map[string]string{}
	for url, body := range state {
		if held, has := f.pages[url]; body != "" && has {
			want[held.File] = body
		} else if has != (body != "") {
			t.Errorf("%s: %s: in the mirror %v", when, url, has)
		}
	}
	got := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || strings.HasPrefix(name, notes) {
			return err
		}
		text, err := os.ReadFile(path)
		got[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%s: the folder holds %v: want %v, %v", when, got, want, err)
	}
}
