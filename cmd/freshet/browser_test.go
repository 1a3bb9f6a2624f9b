package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"freshet/clock"
)

// browser is a tab of Chromium. Any error in it fails the test.
type browser struct {
	t   *testing.T
	tab context.Context

	mu         sync.Mutex
	complaints []string // errors in its console
}

// openBrowser starts Chromium until the test ends.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: make setup installs it")
	}
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute),
	})
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, _ := chromedp.NewContext(allocator) // ends with the allocator
	b := &browser{t: t, tab: tab}
	if err := chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.complain(fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.complain(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, text)
}

// console returns the errors in the console since the last call, other than the status of the page itself.
func (b *browser) console() []string {
	own := " " + b.text("location.href.split('#')[0]")
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.complaints
	b.complaints = nil
	return slices.DeleteFunc(all, func(text string) bool {
		return strings.Contains(text, "status of 4") && strings.Contains(text+"#", own+"#")
	})
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.tab, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// text returns the value of a JavaScript expression. If another page opens meanwhile, that one evaluates it.
func (b *browser) text(expression string) string {
	b.t.Helper()
	for try := 0; ; try++ {
		value, err := chromedp.Run(b.tab, chromedp.Evaluate[string]("String("+expression+")"))
		switch {
		case err == nil:
			return value
		case try == 100 || !strings.Contains(err.Error(), "navigated or closed"):
			b.t.Fatal(err)
		}
		_ = clock.Real().Sleep(b.t.Context(), 50*time.Millisecond)
	}
}

// press clicks on what a selector finds, in one step: a live pane may redraw at any moment.
func (b *browser) press(selector string) {
	b.t.Helper()
	b.text(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// await waits until something holds.
func (b *browser) await(what string, holds func() bool) {
	b.t.Helper()
	for range 600 {
		if holds() {
			return
		}
		_ = clock.Real().Sleep(b.t.Context(), 50*time.Millisecond)
	}
	b.t.Fatalf("%s: not within half a minute; %s says %q", what, b.text("location.href"), b.text("document.body?.innerText.slice(0, 2000)"))
}

// barriers returns the serious findings of axe on the open page, in light or in dark: things that keep people with a
// screen reader, a keyboard or weak eyes from using the page.
func (b *browser) barriers(scheme string) string {
	b.t.Helper()
	program, err := os.ReadFile("../../internal/oracle/node_modules/axe-core/axe.min.js")
	if err != nil {
		b.t.Skip("no axe: make setup installs it")
	}
	colours := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, colours)
		return err
	}))
	if b.text("typeof axe") == "undefined" {
		if _, err := chromedp.Run(b.tab, chromedp.Evaluate[string](string(program)+"; 'read'")); err != nil {
			b.t.Fatal(err)
		}
	}
	b.text(`(window.barriers = undefined, axe.run(document, {resultTypes: ['violations']}).then(found => {
		window.barriers = found.violations.filter(v => ['serious', 'critical'].includes(v.impact)).
			map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? '')).join('; ')).join('\n');
	}), '')`)
	b.await("axe", func() bool { return b.text("window.barriers") != "undefined" })
	return b.text("window.barriers")
}

// picture returns a picture of the page in its whole length.
func (b *browser) picture() []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.tab, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}

// confined holds that a page of the window has a strict policy, and is inert.
func (b *browser) confined(path string) {
	b.t.Helper()
	b.text(`(window.policy = undefined, fetch(location.href).then(answer => { window.policy = answer.headers.get('Content-Security-Policy') ?? 'none'; }), '')`)
	b.await("its policy", func() bool { return b.text("window.policy") != "undefined" })
	if policy := b.text("window.policy"); !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		b.t.Errorf("%s has the policy %q", path, policy)
	}
	b.inert(path)
}

// inert holds that a page runs no script but its own, and applies no style but its own. Its console complains of these
// two, and had no error before.
func (b *browser) inert(path string) {
	b.t.Helper()
	if errors := b.console(); len(errors) > 0 {
		b.t.Errorf("%s: the console has %q", path, errors)
	}
	if ran := b.text(`(() => {
		const script = document.createElement('script'), style = document.createElement('style');
		script.textContent = 'window.ran = true';
		style.textContent = 'body { outline: 9px solid red }';
		document.head.append(script, style);
		const said = [window.ran === true, getComputedStyle(document.body).outlineWidth === '9px'];
		script.remove(), style.remove();
		return said;
	})()`); ran != "false,false" {
		b.t.Errorf("%s: a script in the page runs, or a style in it applies: %s", path, ran)
	}
	b.await("that the console complains of both", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.complaints) >= 2
	})
	b.console()
}

// byKeyboard holds that a page of the window works without a mouse. The first key leads past the heads. The next ones
// lead to each element in turn, and each shows that it has the focus. The slash leads to the search.
func (b *browser) byKeyboard(path string) {
	b.t.Helper()
	active := func(property string) string { return b.text("document.activeElement." + property) }
	b.do(chromedp.KeyEvent(kb.Tab))
	if class := active("className"); class != "skip" {
		b.t.Errorf("%s: the first key leads to %s", path, active("outerHTML"))
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	if id := active("id"); id != "main" {
		b.t.Errorf("%s: the link past the heads leads to %q", path, id)
	}
	b.do(chromedp.KeyEvent(kb.Tab))
	if ring := b.text("getComputedStyle(document.activeElement).outlineStyle"); ring == "none" {
		b.t.Errorf("%s: nothing shows that this has the focus: %.200s", path, active("outerHTML"))
	}
	b.text("document.activeElement.blur()")
	b.do(chromedp.KeyEvent("/"))
	if id := active("id"); id != "find" {
		b.t.Errorf("%s: the slash leads to %q", path, id)
	}
	b.text("document.activeElement.value = ''") // a browser that people type in keeps the slash out of it
	b.text("document.activeElement.blur()")
}

// inspect holds that a page of the window is confined and works by keyboard, and what pictures holds.
func (b *browser) inspect(at, path string) {
	b.t.Helper()
	name := "window" + strings.TrimRight(strings.NewReplacer("/", "-", "?", "-", "=", "-", ":", "-", "+", "-").Replace(path), "-")
	b.pictures(name, path, func() {
		b.do(chromedp.Navigate(at + path))
		b.byKeyboard(path)
		b.confined(path)
	})
}

// pictures holds that a page fits on a screen and on a phone, and that axe finds nothing serious in it, in light and in
// dark. It keeps pictures. open leads to the page.
func (b *browser) pictures(name, path string, open func()) {
	b.t.Helper()
	for width, kind := range map[int64]string{1280: "desktop", 360: "phone"} {
		b.do(chromedp.EmulateViewport(width, 900))
		open()
		if wide := b.text("document.documentElement.scrollWidth > innerWidth"); wide != "false" {
			b.t.Errorf("%s is wider than a %s", path, kind)
		}
		if cut := b.text("[...document.querySelectorAll('.wide')].some(table => table.scrollWidth > table.clientWidth)"); cut != "false" {
			b.t.Errorf("%s: a table does not fit on a %s", path, kind)
		}
		for _, scheme := range []string{"light", "dark"} {
			if found := b.barriers(scheme); found != "" {
				b.t.Errorf("%s on a %s in %s keeps people out: %s", path, kind, scheme, found)
			}
			if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+"-"+kind+"-"+scheme+".png"), b.picture(), 0o644); err != nil {
				b.t.Error(err)
			}
		}
	}
}

// look returns a picture of a page after each of its fonts has loaded or failed.
func (b *browser) look(address string) []byte {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(600, 400), chromedp.Navigate(address))
	b.await("its fonts", func() bool {
		return b.text("[...document.fonts].every(font => ['loaded', 'error'].includes(font.status))") == "true"
	})
	return b.picture()
}
