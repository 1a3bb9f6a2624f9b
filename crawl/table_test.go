package crawl

import (
	"math/rand/v2"
	"testing"

	"freshet/refresh"
	"freshet/weburl"
)

// TestTable compares a table with a map, while pages come and go.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	table, want := newTable(), map[PageKey]refresh.ID{}
	var keys []PageKey
	for step := range 60_000 {
		key := PageKey{weburl.Partition(random.IntN(3)), weburl.Fingerprint(random.IntN(12_000))}
		id, known := want[key]
		switch got, ok := table.find(key); {
		case ok != known || ok && got != id:
			t.Fatalf("step %d: %v is page %d, %v; want %d, %v", step, key, got, ok, id, known)
		case !known:
			want[key] = table.add(key, false, 2)
			keys = append(keys, key)
		case random.IntN(2) == 0 || step > 50_000:
			table.remove(id)
			delete(want, key)
		}
		if table.len() != len(want) {
			t.Fatalf("step %d: %d pages, want %d", step, table.len(), len(want))
		}
	}
	for _, key := range keys {
		id, known := want[key]
		if got, ok := table.find(key); ok != known || ok && got != id {
			t.Errorf("%v is page %d, %v; want %d, %v", key, got, ok, id, known)
		}
		if known && table.pages[id].key() != key {
			t.Errorf("page %d has key %v, want %v", id, table.pages[id].key(), key)
		}
	}
}
