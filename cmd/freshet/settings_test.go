package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// texts returns the settings as text.
func texts(flags *pflag.FlagSet) map[string]string {
	all := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) { all[f.Name] = f.Value.String() })
	return all
}

// readBack returns the settings that a shown file gives.
func readBack(t testing.TB, shown []byte) map[string]string {
	t.Helper()
	flags := newCrawlFlags()
	given, err := parseConfig(flags, "shown.yaml", shown)
	if err := errors.Join(err, assign(given)); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	return texts(flags)
}

func TestShownDefaultsAreValid(t *testing.T) {
	var shown bytes.Buffer
	showConfig(&shown, newCrawlFlags())
	if diff := cmp.Diff(texts(newCrawlFlags()), readBack(t, shown.Bytes())); diff != "" {
		t.Error(diff)
	}
}

// TestShownSettingsAreValid holds that the output of config show gives the same settings again, for any texts in
// them.
func TestShownSettingsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flags := newCrawlFlags()
		for _, name := range []string{"data", "seeds", "contact", "user-agent"} {
			_ = flags.Set(name, rapid.String().Draw(t, name)) // what a check refuses is not set
		}
		for name, text := range map[string]string{
			"crawl": "null", "scope": "any", "delay": "90m", "max-body": "3KB", "allow-private": "true", "adaptive-delay": "1.5", "listen": "[::1]:80",
			"resolve": "a.test=127.0.0.1:80,[::1]=[fe80::1%eth0]:81,müller.test=127.0.0.3:1",
		} {
			if err := flags.Set(name, text); err != nil {
				t.Fatal(err)
			}
		}
		var shown bytes.Buffer
		showConfig(&shown, flags)
		again := newCrawlFlags()
		given, err := parseConfig(again, "shown.yaml", shown.Bytes())
		if err := errors.Join(err, assign(given)); err != nil {
			t.Fatalf("%v\n%s", err, shown.Bytes())
		}
		if diff := cmp.Diff(texts(flags), texts(again)); diff != "" {
			t.Fatalf("%s\n%s", diff, shown.Bytes())
		}
	})
}

func TestParseConfig(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string // the settings that are not at their default
		fault      string
	}{
		{name: "empty"},
		{name: "comment", text: "# nothing\n"},
		{name: "null document", text: "---\n~\n"},
		{name: "scalars", text: "max-pages: 16\nuser-agent: 'it''s'\nallow-private: true\nadaptive-delay: 1.5\n", want: map[string]string{"max-pages": "16", "user-agent": "it's", "allow-private": "true", "adaptive-delay": "1.5"}},
		{name: "not decimal", text: "max-pages: 0x10\n", fault: "f:1: max-pages: \"0x10\": want a whole number, at least 0"},
		{name: "null is the default", text: "delay:\nmax-pages: 3\n", want: map[string]string{"max-pages": "3"}},
		{name: "block text", text: "contact: |\n  mailto:a@b.test\n", want: map[string]string{"contact": "mailto:a@b.test"}},
		{name: "flow mapping", text: "{max-pages: 3, delay: 2s}", want: map[string]string{"max-pages": "3", "delay": "2s"}},
		{name: "list of one", text: "delay: [2s]", want: map[string]string{"delay": "2s"}},
		{name: "unknown", text: "delay: 2s\ndelays: 2s\n", fault: `f:2: unknown setting "delays" (did you mean "delay"?)`},
		{name: "unknown and far", text: "upholstery: red\n", fault: `f:1: unknown setting "upholstery"`},
		{name: "nested", text: "resolve:\n  a: b\n", fault: "f:1: resolve: want a value or a list of values, not a mapping"},
		{name: "list of lists", text: "resolve: [[a]]\n", fault: "f:1: resolve: want a value or a list of values, not a list of lists"},
		{name: "alias", text: "data: &a x\nseeds: *a\n", fault: "f:1: data: want a value or a list of values, not a anchor\nf:2: seeds: want a value or a list of values, not a alias"},
		{name: "two documents", text: "delay: 1s\n---\ndelay: 2s\n", fault: "f:3: a second document: want one"},
		{name: "scalar", text: "\nhello\n", fault: "f:2: want a mapping of settings"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			flags := newCrawlFlags()
			given, err := parseConfig(flags, "f", []byte(test.text))
			err = errors.Join(err, assign(given))
			if got := fmt.Sprint(err); err != nil && got != test.fault || err == nil && test.fault != "" {
				t.Errorf("error %q: want %q", got, test.fault)
			}
			if test.fault != "" {
				return
			}
			want := texts(newCrawlFlags())
			maps.Copy(want, test.want)
			if diff := cmp.Diff(want, texts(flags)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzSettings holds that no file of settings panics, that every fault has its file and line, and that the settings
// of a valid file can be shown and read back.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "delay: 5s\n", "resolve: [a=127.0.0.1:1, b.test=[::1]:2]\n", "max-page: 1\n", "- a\n", "a: {b: c}\n", "? x\n: y\n", "delay: *a\n",
		"delay: &a 5s\nfor: *a\n", "!!str delay: !!int 5\n", "delay: |\n  5s\n", "delay: \"\\u0035s\"\n", "---\n...\n---\n", "<<: {delay: 1s}\n", "\xff", "%YAML 1.2\n---\n", "[: ", "seeds: >-\n  a\n  b\n",
	} {
		f.Add([]byte(seed))
	}
	where := regexp.MustCompile(`^f\.yaml:[1-9]\d*: `)
	f.Fuzz(func(t *testing.T, text []byte) {
		flags := newCrawlFlags()
		given, err := parseConfig(flags, "f.yaml", text)
		if err := errors.Join(err, assign(given)); err != nil {
			if !where.MatchString(err.Error()) {
				t.Fatalf("error without file and line: %v", err)
			}
			return
		}
		var shown bytes.Buffer
		showConfig(&shown, flags)
		if diff := cmp.Diff(texts(flags), readBack(t, shown.Bytes())); diff != "" {
			t.Fatalf("%s\n%s", diff, shown.Bytes())
		}
	})
}

// TestShownSettingsHideSecrets holds that what config show prints can be shown to others.
func TestShownSettingsHideSecrets(t *testing.T) {
	flags := newCrawlFlags()
	for name, text := range map[string]string{
		"webhook": "https://us3r:s3cret@hooks.test/services/s3cret?token=s3cret", "seeds": "http://us3r:s3cret@a.test/?key=s3cret",
		"sink":    "nats://us3r:s3cret@a.test:4222/pages",
		"contact": "https://crawler.test/?page=about",
	} {
		if err := flags.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	var shown bytes.Buffer
	showConfig(&shown, flags)
	fmt.Fprintln(&shown, settingChanges(newCrawlFlags(), flags))
	for _, secret := range []string{"us3r", "s3cret"} {
		if bytes.Contains(shown.Bytes(), []byte(secret)) {
			t.Errorf("%s is shown in\n%s", secret, shown.Bytes())
		}
	}
	for _, public := range []string{`["https://hidden@hooks.test/hidden?hidden"]`, `"http://hidden@a.test/?hidden"`, `"https://crawler.test/?page=about"`} {
		if !bytes.Contains(shown.Bytes(), []byte(public)) {
			t.Errorf("no %s in\n%s", public, shown.Bytes())
		}
	}
}
