//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/internal/machines"
	"freshet/objects"
	"freshet/store"
	"freshet/store/segments"
)

// The object store has the captures of all nodes, and snapshots of the partitions.

const (
	bucket        = "captures"
	storeNumber   = 20
	storePort     = 7070
	storeEndpoint = "AWS_ENDPOINT_URL_S3"
)

// startStore starts the object store, and sets the environment so that all programs of the trial use it.
func (t *trial) startStore() error {
	folder := filepath.Join(t.set.dir, "store")
	if err := os.MkdirAll(filepath.Join(folder, bucket), 0o700); err != nil {
		return err
	}
	const key, secret = "chaos", "chaos-and-its-secret"
	for name, value := range map[string]string{
		storeEndpoint: fmt.Sprintf("http://%s:%d", machines.Address(storeNumber), storePort), "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	says, err := os.Create(folder + ".log")
	if err != nil {
		return err
	}
	address := fmt.Sprintf("%s:%d", machines.Address(storeNumber), storePort)
	t.store = &machines.Machine{
		Name: "store", Number: storeNumber, Errors: says, Env: []string{"ROOT_ACCESS_KEY=" + key, "ROOT_SECRET_KEY=" + secret},
		Args: []string{"-role", "node", "--", t.set.server, "--quiet", "--port", address, "posix", folder},
	}
	return t.store.Start()
}

// checkServer returns an error if the object store's server is not installed.
func checkServer(program string) error {
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: run scripts/setup", program)
	}
	return nil
}

// open opens a directory without a running crawl, with the captures that were moved to the object store.
func open(dir string) (*store.Store, error) {
	o := store.Options{ReadOnly: true}
	address, err := segments.Address(vfs.Default, dir)
	if err != nil {
		return nil, err
	}
	if address != "" {
		captures, err := objects.Open(vfs.Default, address)
		if err != nil {
			return nil, err
		}
		o.Segments = segments.New(segments.Options{Store: captures, CacheBytes: -1, Clock: real})
	}
	return store.Open(dir, o)
}

// moved returns the number of capture files in the object store, and their bytes.
func (t *trial) moved() (files int, bytes int64) {
	_ = filepath.WalkDir(filepath.Join(t.set.dir, "store", bucket), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".gz" {
			if info, err := d.Info(); err == nil {
				files, bytes = files+1, bytes+info.Size()
			}
		}
		return nil
	})
	return files, bytes
}
