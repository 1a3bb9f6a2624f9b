package mirror

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"freshet/feed/broadcast"
	"freshet/weburl"
)

// Held is a page of a mirror: a line of pages.jsonl.
type Held struct {
	URL     string `json:"url"`
	File    string `json:"file,omitempty"` // in the mirror; "" for a page that has gone
	Version uint32 `json:"version,omitempty"`
	// Digest is the SHA-1 of the body as sent, hexadecimal. Without one, the file may hold an older body, or
	// not exist: it was being written or removed.
	Digest string `json:"digest,omitempty"`
}

// disk is the part of a file system that a folder uses. No name leads out of its directory.
type disk interface {
	MkdirAll(name string, mode fs.FileMode) error
	ReadFile(name string) ([]byte, error)
	OpenFile(name string, flag int, mode fs.FileMode) (file, error)
	Rename(from, to string) error
	Remove(name string) error
	Lstat(name string) (fs.FileInfo, error)
	Close() error
}

type file interface {
	io.WriteCloser
	Sync() error
}

// root is the disk of a directory.
type root struct{ *os.Root }

func (r root) OpenFile(name string, flag int, mode fs.FileMode) (file, error) {
	return r.Root.OpenFile(name, flag, mode)
}

// folder is a mirror's directory. Not for concurrent use.
type folder struct {
	root  disk
	pages map[string]Held   // by URL
	files map[string]string // file → the URL that is in it
	log   file              // pages.jsonl
	lines int
	ended bool // the log has lines of pages that have ended since
}

const (
	pagesFile  = notes + "/pages.jsonl"
	cursorFile = notes + "/cursor.json"
	tempFile   = notes + "/incoming"
	maxLine    = 1 << 20
)

// openFolder opens a mirror, or makes one in an empty or new directory.
func openFolder(dir string) (f *folder, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	ours := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == notes })
	if len(entries) > 0 && !ours {
		return nil, fmt.Errorf("mirror: %s holds other files: want an empty folder, or a mirror", dir)
	}
	opened, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return loadFolder(root{opened})
}

// loadFolder reads the notes of a mirror, and closes the disk if it cannot.
func loadFolder(d disk) (*folder, error) {
	f := &folder{root: d, pages: map[string]Held{}, files: map[string]string{}}
	if err := f.load(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// load reads pages.jsonl and writes it again. A crash may have cut its last line.
func (f *folder) load() error {
	if err := f.root.MkdirAll(notes, 0o755); err != nil {
		return err
	}
	if err := f.root.Remove(tempFile); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a page, left by a crash
		return err
	}
	text, err := f.root.ReadFile(pagesFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var held Held
		if json.Unmarshal(lines.Bytes(), &held) != nil {
			break // cut: the server sends later changes again
		}
		f.note(held)
	}
	return f.compact()
}

func (f *folder) note(held Held) {
	if old, ok := f.pages[held.URL]; ok {
		delete(f.files, old.File)
		delete(f.pages, held.URL)
	}
	if held.File != "" {
		f.pages[held.URL], f.files[held.File] = held, held.URL
	}
}

// compact writes pages.jsonl with one line per page.
func (f *folder) compact() error {
	urls := make([]string, 0, len(f.pages))
	for url := range f.pages {
		urls = append(urls, url)
	}
	slices.Sort(urls)
	var text []byte
	for _, url := range urls {
		line, err := json.Marshal(f.pages[url])
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if f.log != nil {
		f.log.Close()
	}
	if err := f.write(pagesFile, text); err != nil {
		return err
	}
	var err error
	f.lines, f.ended = len(urls), false
	f.log, err = f.root.OpenFile(pagesFile, os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// begin records that the file of a page is about to be written or removed. If the program is killed in between, the
// folder still knows the file, and does not trust its content.
func (f *folder) begin(held Held) error {
	held.Digest = ""
	return f.record(held)
}

// record records a page. It becomes durable with the next cursor.
func (f *folder) record(held Held) error {
	f.note(held)
	line, err := json.Marshal(held)
	if err != nil {
		return err
	}
	if _, err := f.log.Write(append(line, '\n')); err != nil {
		return err
	}
	if f.lines++; f.lines > 1024+4*len(f.pages) {
		return f.compact()
	}
	return nil
}

// write writes a whole file durably, and gives it its name last.
func (f *folder) write(name string, content []byte) error {
	file, err := f.root.OpenFile(tempFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return f.root.Rename(tempFile, name)
}

// put writes a page. If a file stands where its folder must be, or a folder where its file must be, put uses the
// spare place.
func (f *folder) put(u weburl.URL, version uint32, digest string, content []byte) (Held, error) {
	name, err := f.place(u)
	if err != nil {
		return Held{}, err
	}
	if err := f.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return Held{}, err
	}
	held := Held{URL: u.String(), File: name, Version: version, Digest: digest}
	if err := f.begin(held); err != nil {
		return Held{}, err
	}
	if err := f.write(name, content); err != nil {
		return Held{}, err
	}
	return held, f.record(held)
}

// place returns the present or future file of a page.
func (f *folder) place(u weburl.URL) (string, error) {
	name, err := placeOf(u)
	if err != nil {
		return "", err
	}
	if at, known := f.pages[u.String()]; known {
		return at.File, nil
	}
	if owner, taken := f.files[name]; taken && owner != u.String() || !f.fits(name) {
		return spare(u), nil
	}
	return name, nil
}

// fits reports whether a file can have a name: there is no folder of that name, and no file where a folder must be.
func (f *folder) fits(name string) bool {
	if info, err := f.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return false
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := f.root.Lstat(dir); err == nil && !info.IsDir() {
			return false
		}
	}
	return true
}

// drop removes a page, and the folders that become empty. had is false if there was no such page.
func (f *folder) drop(url string) (had bool, err error) {
	held, had := f.pages[url]
	if !had {
		return false, nil
	}
	if err := f.begin(held); err != nil {
		return true, err
	}
	if err := f.root.Remove(held.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	for dir := path.Dir(held.File); strings.Contains(dir, "/") && f.root.Remove(dir) == nil; {
		dir = path.Dir(dir)
	}
	f.ended = true
	return true, f.record(Held{URL: url})
}

// whole says up to which cursor a mirror is complete, and for which interest.
type whole struct {
	Cursor   string             `json:"cursor"`
	Interest broadcast.Interest `json:"interest"`
}

// cursor returns the cursor up to which the mirror is complete for an interest, or "" if it never was.
func (f *folder) cursor(of broadcast.Interest) string {
	text, err := f.root.ReadFile(cursorFile)
	var w whole
	if err != nil || json.Unmarshal(text, &w) != nil || !reflect.DeepEqual(w.Interest, of) {
		return ""
	}
	return w.Cursor
}

// reached records that the mirror is complete up to a cursor. Everything recorded before is on disk then.
func (f *folder) reached(cursor string, of broadcast.Interest) error {
	text, err := json.Marshal(whole{cursor, of})
	if err != nil {
		return err
	}
	if err := f.sync(); err != nil {
		return err
	}
	return f.write(cursorFile, append(text, '\n'))
}

// sync makes pages.jsonl durable. It first removes lines of pages that have ended.
func (f *folder) sync() error {
	if f.ended {
		return f.compact()
	}
	return f.log.Sync()
}

func (f *folder) close() error {
	var err error
	if f.log != nil {
		err = f.log.Close()
	}
	return errors.Join(err, f.root.Close())
}
