package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"

	"freshet/clock"
	_ "freshet/index" // the analysis of its texts
	"freshet/internal/sites"
)

// TestKillIndex kills a program while it indexes a crawl, again and again, and then lets it finish: the index is the
// one that a run without a kill makes, of the same pages with the same texts. FRESHET_KILLS says how often it kills.
func TestKillIndex(t *testing.T) {
	kills := 6
	if more := os.Getenv("FRESHET_KILLS"); more != "" {
		var err error
		if kills, err = strconv.Atoi(more); err != nil {
			t.Fatal(err)
		}
	}
	manual := install(t, "git-doc")[0]
	servers := serve(t, 67, new(sites.Log), sites.Options{}, manual)
	data := filepath.Join(t.TempDir(), "data")
	crawl(t, data, servers, "--delay", "0s")
	indexing := crawlArgs(data, servers, "--delay", "0s", "--index")
	folder := filepath.Join(data, "index")

	run(t, binary, indexing...)
	want := indexed(t, folder)
	if len(want) < 200 {
		t.Fatalf("%d pages are indexed", len(want))
	}
	started := 0
	for i := range kills {
		if started == 0 || i%3 == 0 { // from the beginning, then on from where it was
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			started = 0
		}
		command := exec.Command(binary, indexing...)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "an index", func() bool {
			_, err := os.Stat(folder)
			return err == nil
		})
		if err := clock.Real().Sleep(t.Context(), time.Duration(i*37%200)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()
		started++
	}
	run(t, binary, indexing...)
	got := indexed(t, folder)
	for id, said := range want {
		if got[id] != said {
			t.Errorf("%s: %d bytes are indexed, want %d", id, len(got[id]), len(said))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d pages are indexed, want %d", len(got), len(want))
	}
}

// indexed returns the title and the text that an index has of each page.
func indexed(t *testing.T, folder string) map[string]string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v: %v", dirs, err)
	}
	x, err := bleve.OpenUsing(dirs[0], map[string]any{"read_only": true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	request := bleve.NewSearchRequestOptions(bleve.NewMatchAllQuery(), 10_000, 0, false)
	request.Fields = []string{"title", "text"}
	found, err := x.Search(request)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, hit := range found.Hits {
		if _, double := all[hit.ID]; double {
			t.Errorf("%s is indexed twice", hit.ID)
		}
		title, _ := hit.Fields["title"].(string)
		said, _ := hit.Fields["text"].(string)
		all[hit.ID] = strings.Join([]string{title, said}, "\n")
	}
	return all
}
