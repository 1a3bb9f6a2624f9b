package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"freshet/internal/broker"
)

// TestNodesWithDifferentSettings starts two nodes with different budgets, and with equal seeds in different files. Both
// warn of the budget, with both values. When the first has read its files again, the second warns of what changed.
func TestNodesWithDifferentSettings(t *testing.T) {
	url, dir := broker.JetStream(t).ClientURL(), t.TempDir()
	node := func(name, seeds, settings string) *process {
		put(t, filepath.Join(dir, name+".seeds"), seeds)
		config := filepath.Join(dir, name+".yaml")
		put(t, config, fmt.Sprintf("seeds: %s\nlisten: \"\"\ncontact: mailto:a@b.test\n%s", filepath.Join(dir, name+".seeds"), settings))
		p := start(t, "serve", "--config", config, "--data", filepath.Join(dir, name), "--nats", url, "--nats-replicas", "1", "--node", name)
		p.awaitLine("serving")
		return p
	}
	one := node("one", "", "refresh: true\nbudget: 600\nresolve: a.test=127.0.0.1:1\n")
	two := node("two", "", "refresh: true\nbudget: 100\nresolve: b.test=127.0.0.1:1\n")
	one.awaitLine(`node=two settings="--budget: \"100\" there, \"600\" here"`)
	two.awaitLine(`node=one settings="--budget: \"600\" there, \"100\" here"`)
	put(t, filepath.Join(dir, "one.yaml"), fmt.Sprintf("seeds: %s\nlisten: \"\"\ncontact: mailto:a@b.test\nmax-pages: 7\nrefresh: true\nbudget: 600\n",
		filepath.Join(dir, "one.seeds")))
	one.signal(syscall.SIGHUP, "max-pages")
	two.awaitLine(`--max-pages: \"7\" there, \"0\" here`)
}

// TestCommonSettings holds that files are compared by their content, and that other versions may lack a setting.
func TestCommonSettings(t *testing.T) {
	settings := func(content string) map[string]string {
		flags := newCrawlFlags()
		if err := flags.Set("opt-out", written(t, "opt-out", []byte(content))); err != nil {
			t.Fatal(err)
		}
		return commonSettings(flags)
	}
	here := settings("a.test")
	if got := differences(here, settings("a.test")); len(got) > 0 {
		t.Error(got)
	}
	if got := strings.Join(differences(here, settings("b.test")), " "); !strings.Contains(got, "--opt-out: \"a file with") {
		t.Error(got)
	}
	if got := differences(here, map[string]string{"a-setting": "1"}); len(got) > 0 {
		t.Error(got)
	}
}
