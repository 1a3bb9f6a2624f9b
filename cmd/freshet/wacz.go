package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"time"

	"freshet/clock"
	"freshet/cmd/freshet/command"
	"freshet/extract"
	"freshet/store"
	"freshet/weburl"
)

// waczVersion is the version of the format: https://specs.webrecorder.net/wacz/1.1.1/
const waczVersion = "1.1.1"

// wacz is a WACZ file being written: a ZIP archive of WARC files, their index, a list of pages, and a description of
// these files.
type wacz struct {
	zip       *zip.Writer
	resources []waczResource
}

// waczResource is an entry of datapackage.json.
type waczResource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// writeWACZ writes the WARC files. It leaves out captures that served does not accept.
func writeWACZ(w io.Writer, s *store.Store, files []string, served func(target string) (bool, error)) error {
	if served != nil {
		temp, remove, err := command.TempFolder("freshet-wacz-")
		if err != nil {
			return err
		}
		defer remove()
		if files, err = copyFiles(s.FS(), files, temp, served); err != nil {
			return err
		}
	}
	z := &wacz{zip: zip.NewWriter(w)}
	for _, file := range files {
		// Stored uncompressed, a file of compressed records can be read from the middle.
		err := z.add("archive/"+nameOfCopy(file), zip.Store, func(w io.Writer) error { return copyServed(w, s.FS(), file, nil) })
		if err != nil {
			return err
		}
	}
	if err := z.add("indexes/index.cdx", zip.Deflate, func(w io.Writer) error { return writeCDXJ(w, s.FS(), files, nil) }); err != nil {
		return err
	}
	if err := z.add("pages/pages.jsonl", zip.Deflate, func(w io.Writer) error { return writeWACZPages(w, s) }); err != nil {
		return err
	}
	return z.close()
}

// add writes a file of the archive and records its description.
func (z *wacz) add(path string, method uint16, write func(io.Writer) error) error {
	out, err := z.zip.CreateHeader(&zip.FileHeader{Name: path, Method: method, Modified: clock.Real().Now().UTC()})
	if err != nil {
		return err
	}
	counted := &digester{hash: sha256.New(), to: out}
	if err := write(counted); err != nil {
		return err
	}
	z.resources = append(z.resources, waczResource{
		Name: filepath.Base(path), Path: path, Hash: counted.sum(), Bytes: counted.bytes,
	})
	return nil
}

// close writes the description of the files, and the end of the archive.
func (z *wacz) close() error {
	about, err := json.MarshalIndent(struct {
		Profile   string         `json:"profile"`
		Version   string         `json:"wacz_version"`
		Created   string         `json:"created"`
		Software  string         `json:"software"`
		Resources []waczResource `json:"resources"`
	}{"data-package", waczVersion, clock.Real().Now().UTC().Format(time.RFC3339), "freshet " + version(), z.resources}, "", "  ")
	if err != nil {
		return err
	}
	digest, err := json.Marshal(map[string]string{"path": "datapackage.json", "hash": fmt.Sprintf("sha256:%x", sha256.Sum256(about))})
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path string
		text []byte
	}{{"datapackage.json", about}, {"datapackage-digest.json", digest}} {
		out, err := z.zip.Create(file.path)
		if err != nil {
			return err
		}
		if _, err := out.Write(file.text); err != nil {
			return err
		}
	}
	return z.zip.Close()
}

// writeWACZPages writes the list of live HTML pages, the entry points of the archive.
func writeWACZPages(w io.Writer, s *store.Store) error {
	out := json.NewEncoder(w)
	if err := out.Encode(map[string]string{"format": "json-pages-1.0", "id": "pages", "title": "All pages"}); err != nil {
		return err
	}
	for p := range s.Partitions() {
		home := weburl.Partition(p)
		for row, err := range s.Pages(home) {
			if err != nil {
				return err
			}
			if row.State != store.StateLive || row.Versions == 0 || extract.KindOf(row.ContentType, nil) != extract.KindHTML {
				continue
			}
			version, err := s.Version(home, row.Fingerprint, row.Versions)
			if err != nil {
				return err
			}
			page := map[string]string{"url": row.URL.String(), "ts": time.Unix(0, version.At).UTC().Format(time.RFC3339)}
			if err := out.Encode(page); err != nil {
				return err
			}
		}
	}
	return nil
}

// digester hashes and counts the bytes written to it.
type digester struct {
	hash  hash.Hash
	to    io.Writer
	bytes int64
}

func (d *digester) Write(p []byte) (int, error) {
	n, err := d.to.Write(p)
	d.hash.Write(p[:n])
	d.bytes += int64(n)
	return n, err
}

func (d *digester) sum() string { return fmt.Sprintf("sha256:%x", d.hash.Sum(nil)) }
