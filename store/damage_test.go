package store_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/format"
	"freshet/store/internal/storetest"
)

// TestDamageIsNamed opens a directory with an unreadable table. The error names the file. Neither the error nor the
// log shows a stack.
func TestDamageIsNamed(t *testing.T) {
	disk := vfs.NewMem()
	for range 2 { // the second opening writes the table
		s := storetest.Open(t, storetest.Options(disk))
		storetest.Discover(t, s, "http://a.test/1", "http://a.test/2")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, err := disk.List("data/db")
	if err != nil {
		t.Fatal(err)
	}
	var table string
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			table = name
		}
	}
	raw, err := format.ReadFile(disk, "data/db/"+table, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	raw[10] ^= 1
	if err := format.WriteFile(disk, "data/db/"+table, raw); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := storetest.Options(disk)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	_, err = store.Open("data", o)
	if err == nil || !store.IsDamage(err) || !strings.Contains(err.Error(), table) {
		t.Errorf("open: %v: want damage of %s", err, table)
	}
	if !strings.Contains(log.String(), table) || strings.Contains(log.String(), "goroutine") || strings.Contains(log.String(), "stack") {
		t.Errorf("log: %s", log.String())
	}
}
