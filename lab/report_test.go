package lab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// samplePage writes a report of two experiments, one without a result, and returns its text.
func samplePage(t *testing.T) string {
	t.Helper()
	result, err := sample().New().Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	missing := sample()
	missing.Name = "missing"
	var out bytes.Buffer
	err = Report{Title: "A <report>", Preface: "Made for a test.", Chapters: []Chapter{
		{Experiment: sample(), Command: "freshet lab run sample", Result: result},
		{Experiment: missing, Command: "freshet lab run missing", Missing: "histories.csv: data is missing"},
	}}.Write(&out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReport(t *testing.T) {
	text := samplePage(t)
	for _, want := range []string{
		"<title>A &lt;report&gt;</title>", "freshet lab run sample", `<tr class="agrees"><td>cost<td class="right">0.2<td class="right">–<td class="right">0.25`,
		`<tr class="denied"><td>b is cheap<td>denied<td>1 of 2`, `aria-label="p"`, "<summary>All 2 rows</summary>",
		"There is no result: histories.csv: data is missing", "<dt>page_count</dt><dd>3</dd>",
		`<a href="#sample">sample</a><td>Fill every part of a result<td class="right">1 of 2<td class="right">0 confirmed, 1 denied`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, no := range []string{"<script", "<link", "src=", "@import", "url("} {
		if strings.Contains(text, no) {
			t.Errorf("%s in a page that is to need nothing else", no)
		}
	}
}

// TestReportInBrowser opens the page in a browser. The page makes no request, has the expected texts, draws its plots
// and is not wider than the window.
func TestReportInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	file := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(file, []byte(samplePage(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WindowSize(900, 700), chromedp.WSURLReadTimeout(time.Minute),
	})
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	defer stop()
	tab, closeTab := chromedp.NewContext(allocator)
	defer closeTab()
	if err := chromedp.Do(tab, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	type look struct {
		Title, Mark         string
		Width, Window, Plot float64
		Asked               int
	}
	got, err := chromedp.Run(tab, chromedp.Evaluate[look](`({
		Title: document.title,
		Mark: getComputedStyle(document.querySelector("tr.denied td")).borderLeftColor,
		Width: document.documentElement.scrollWidth,
		Window: window.innerWidth,
		Plot: document.querySelector("svg").getBoundingClientRect().height,
		Asked: performance.getEntriesByType("resource").length,
	})`))
	if err != nil {
		t.Fatal(err)
	}
	if got.Title != "A <report>" || got.Width > got.Window || got.Plot < 300 || got.Mark != "rgb(179, 55, 11)" || got.Asked != 0 {
		t.Errorf("%+v", got)
	}
}

func TestCache(t *testing.T) {
	c := Cache{Dir: filepath.Join(t.TempDir(), "results"), Version: "1"}
	trial := sample().New()
	if _, ok := c.Load(trial); ok {
		t.Error("a result before any was kept")
	}
	result, err := trial.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Store(trial, result); err != nil {
		t.Fatal(err)
	}
	kept, ok := c.Load(trial)
	if !ok || len(kept.Rows) != 2 || kept.Rows[0].Get("policy") != "b" {
		t.Errorf("kept %+v, %v", kept, ok)
	}
	other := sample().New()
	if err := other.Flags().Parse([]string{"--zeal=2"}); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Load(other); ok {
		t.Error("a result of other parameters")
	}
	if _, ok := (Cache{Dir: c.Dir, Version: "2"}).Load(trial); ok {
		t.Error("a result of another version")
	}
	names, _ := filepath.Glob(filepath.Join(c.Dir, "*"))
	if len(names) != 1 {
		t.Fatalf("files %v", names)
	}
	if err := os.WriteFile(names[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Load(trial); ok {
		t.Error("a result from a torn file")
	}
}
