package house

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "freshet"

// rooms has the rooms of ours that each room may import, tests apart. A room is a folder with its subfolders, except
// those with a line of their own. Its packages may import each other. The live rooms wait or tell the time, and may
// import clock. The policies get the time from their callers, and may not.
var rooms = map[string]string{
	"clock":      "",
	"memory":     "",
	"weburl":     "",
	"consent":    "", // what signals mean is decided by their words alone
	"store":      "weburl clock log store/warc store/segments store/internal/format store/internal/database",
	"store/warc": "weburl", // the file formats know nothing of the store
	"objects":    "clock",
	"seen":       "weburl clock",

	"store/internal/format":   "weburl store/internal/database", // how it lies on disk, whoever reads it
	"store/internal/database": "",

	// for tests
	"store/internal/storetest": "weburl clock store store/warc store/repair store/internal/format store/internal/database",

	"store/retain":   "weburl store store/warc store/internal/format store/internal/database",
	"store/repair":   "weburl store store/warc store/retain store/internal/format store/internal/database",
	"store/transfer": "weburl log store store/warc store/segments store/internal/format store/internal/database",
	"store/segments": "clock objects store/warc store/internal/format",

	"frontier":     "weburl",
	"fetch":        "weburl clock memory",
	"extract":      "weburl consent",
	"text":         "weburl extract",
	"change":       "",
	"allocate":     "",
	"schedule":     "",
	"refresh":      "change allocate schedule",
	"fleet":        "",
	"importance":   "weburl",
	"weights":      "",
	"feed":         "weburl store clock",
	"crawl":        "weburl store seen frontier change allocate schedule refresh fleet importance weights crawl/robots crawl/discovery crawl/keepfresh crawl/share",
	"node":         "weburl clock memory log store store/retain store/transfer store/segments store/warc seen frontier fetch extract text change allocate schedule refresh fleet importance weights crawl crawl/robots crawl/discovery crawl/keepfresh crawl/share crawl/explain",
	"crawl/robots": "weburl consent", // what robots.txt asks is decided without a clock
	// it asks through interfaces of its own, and is told the time
	"crawl/explain": "weburl store frontier crawl/robots",
	"importer":      "weburl store store/warc store/retain store/repair fetch extract",
	"sim":           "weburl clock seen frontier crawl/keepfresh change allocate schedule refresh fleet importance weights",
	"sim/trial":     "weburl store store/retain store/warc seen frontier crawl crawl/robots crawl/discovery sim",
	"sim/trial/run": "clock sim/trial", // it tells how fast trials go
	"lab": "weburl clock seen frontier change allocate schedule refresh fleet importance weights " +
		"feed/broadcast/scheduler sim",
	"dashboard":       "weburl clock extract memory dashboard/units",
	"dashboard/units": "",
	"log":             "weburl",
	"log/jetstream":   "weburl clock log",
	// nodes agree on one threshold
	"node/cluster": "weburl clock log objects store crawl crawl/discovery crawl/share allocate refresh",

	// it decides what is new from the verdicts and rows that its caller gives
	"crawl/discovery": "weburl frontier seen store crawl/robots",

	"crawl/share":     "weburl allocate",
	"crawl/keepfresh": "weburl refresh", // it decides what is visited, and asks through an interface of its own

	"text/pdf":    "",
	"text/stored": "weburl store fetch text text/pdf",

	"index":   "weburl clock store feed text text/stored",
	"queries": "", // what is searched is noted without knowing of pages

	"feed/broadcast":           "weburl store clock feed feed/broadcast/scheduler",
	"feed/broadcast/multicast": "clock", // it carries frames and knows nothing of what is in them
	"feed/webhook":             "store clock feed",
	"feed/sink":                "weburl store clock consent text text/stored feed",
	"feed/resourcesync":        "weburl store clock feed",
	"feed/mirror":              "weburl store/warc clock feed feed/broadcast feed/broadcast/multicast",

	"feed/broadcast/scheduler": "", // what is sent next is decided without knowing how
}

// everything names the folders whose packages may import any room.
var everything = []string{"cmd", "internal"}

// pure are the rooms that open no file, socket or process, start no goroutine and hold no lock. sealed are the
// packages for that.
var (
	pure   = []string{"weburl", "frontier", "change", "allocate", "schedule", "refresh", "fleet", "importance", "weights", "feed/broadcast/scheduler", "crawl/explain", "crawl/robots", "crawl/discovery", "crawl/keepfresh", "crawl/share", "crawl"}
	sealed = []string{"os", "os/exec", "io/ioutil", "net", "net/http", "syscall", "golang.org/x/sys/unix"}
	locks  = []string{"sync", "sync/atomic"}
	shared = "importance" // the pure room that has goroutines: PageRank of a large graph takes all cores
)

// TestArrows holds that each room imports only the rooms that it may.
func TestArrows(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, spec := range s.Imports {
			to, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if ours && !mayImport(s.dir(), to) {
				t.Errorf("%s: %s → %s: %s may import only [%s]",
					s.line(spec.Pos()), s.dir(), to, roomOf(s.dir()), rooms[roomOf(s.dir())])
			}
		}
	}
}

// TestInside holds that the rooms below the store alone work with its inside.
func TestInside(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || first(s.dir()) == "store" {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Inside" {
				t.Errorf("%s: the inside of the store is for the rooms below it", s.line(sel.Pos()))
			}
			return true
		})
	}
}

// TestEveryRoomHasARule holds that no package stands outside the table.
func TestEveryRoomHasARule(t *testing.T) {
	for _, s := range sources(t) {
		if _, ok := rooms[roomOf(s.dir())]; !ok && !slices.Contains(everything, first(s.dir())) {
			t.Errorf("%s: no rule says what %q may import: give it a line in rooms", s.path, roomOf(s.dir()))
		}
	}
}

func TestMayImport(t *testing.T) {
	tests := []struct {
		from, to string
		want     bool
	}{
		{"cmd/freshet", "store", true},
		{"store", "weburl", true},
		{"store", "store/warc", true},
		{"store/warc", "store", false},
		{"store/warc", "weburl", true},
		{"dashboard", "feed/webhook", false},
		{"feed", "feed/broadcast", false},
		{"feed/broadcast", "feed", true},
		{"feed/broadcast", "feed/mirror", false},
		{"feed/broadcast/scheduler/schedulertest", "feed/broadcast/scheduler", true},
		{"feed/broadcast/scheduler/schedulertest", "store", false},
		{"node", "store/warc", true},
		{"node/status", "node", true},
		{"node", "index", false},
		{"sim/discovery", "crawl/keepfresh", true},
		{"sim/discovery", "node", false},
		{"frontier", "clock", false},
		{"sim/web", "clock", true},
		{"weburl", "internal/house", false},
	}
	for _, test := range tests {
		if got := mayImport(test.from, test.to); got != test.want {
			t.Errorf("mayImport(%q, %q) = %v", test.from, test.to, got)
		}
	}
}

// mayImport reports whether the package of folder from may import that of folder to.
func mayImport(from, to string) bool {
	room := roomOf(from)
	return slices.Contains(everything, room) || roomOf(to) == room ||
		slices.Contains(strings.Fields(rooms[room]), roomOf(to))
}

// TestPureRooms holds that a policy opens nothing.
func TestPureRooms(t *testing.T) {
	for _, s := range sources(t) {
		room := roomOf(s.dir())
		if s.test || !slices.Contains(pure, room) {
			continue
		}
		for _, spec := range s.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if slices.Contains(sealed, name) || slices.Contains(locks, name) && room != shared {
				t.Errorf("%s: %s imports %s: it is a pure room, which opens no file, socket or process, and holds no lock",
					s.line(spec.Pos()), s.dir(), name)
			}
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok && room != shared {
				t.Errorf("%s: %s starts a goroutine: it is a pure room", s.line(n.Pos()), s.dir())
			}
			return true
		})
	}
}

// TestRoomsHaveNoCircles holds that the table itself is sound: all it names exists in it, and
// nothing leads back.
func TestRoomsHaveNoCircles(t *testing.T) {
	var visit func(room string, way []string)
	visit = func(room string, way []string) {
		if slices.Contains(way, room) {
			t.Fatalf("a circle: %s", strings.Join(append(way, room), " → "))
		}
		allowed, ok := rooms[room]
		if !ok {
			t.Fatalf("%s: no such room", strings.Join(append(way, room), " → "))
		}
		for next := range strings.FieldsSeq(allowed) {
			visit(next, append(slices.Clone(way), room))
		}
	}
	for room := range rooms {
		visit(room, nil)
	}
}

// roomOf returns the line of rooms that a package's folder belongs to: its own or that of the nearest folder above.
func roomOf(dir string) string {
	for room := dir; room != "."; room = path.Dir(room) {
		if _, ok := rooms[room]; ok {
			return room
		}
	}
	return first(dir)
}

func first(dir string) string {
	top, _, _ := strings.Cut(dir, "/")
	return top
}
