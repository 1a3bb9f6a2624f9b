package weburl

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStandardCases runs the web-platform-tests' cases for URL parsing (url/resources of
// https://github.com/web-platform-tests/wpt, BSD-3-Clause licence), in the copy that the URL
// library's module carries: the go command fetches it before any test can be built. A case that
// fails there or has another scheme's result is to be refused; credentials and fragments, which we
// drop, are taken from what is expected.
func TestStandardCases(t *testing.T) {
	type standardCase struct {
		Input, Href, Username, Password string
		Base                            *string
	}
	var raw []json.RawMessage // comments, which are strings, between cases
	if err := json.Unmarshal(readModuleFile(t, "testdata/urltestdata.json"), &raw); err != nil {
		t.Fatal(err)
	}
	run, passed, outside := 0, 0, 0
	for _, message := range raw {
		var test standardCase
		if json.Unmarshal(message, &test) != nil {
			continue
		}
		var base URL
		if test.Base != nil {
			var err error
			if base, err = Parse(*test.Base); err != nil {
				outside++ // another scheme's base, which only an absolute URL does without
			}
		}
		want := ""
		if strings.HasPrefix(test.Href, "http://") || strings.HasPrefix(test.Href, "https://") {
			want, _, _ = strings.Cut(test.Href, "#")
			if test.Username != "" || test.Password != "" {
				_, after, _ := strings.Cut(want, "@")
				want = want[:strings.Index(want, "//")+2] + after
			}
		}
		run++
		got, err := base.Parse(test.Input)
		if got.String() != want || (err != nil) != (want == "") {
			t.Errorf("%q against %q: got %q, %v; want %q", test.Input, base, got, err, want)
			continue
		}
		passed++
	}
	t.Logf("%d of %d cases pass; %d have a base of another scheme", passed, run, outside)
	if run < 500 {
		t.Errorf("only %d cases found", run)
	}
}

func readModuleFile(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nlnwa/whatwg-url").Output()
	if err != nil {
		t.Fatalf("asking the go command for the module: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestStandardHosts runs the web-platform-tests' cases for host names in other scripts.
func TestStandardHosts(t *testing.T) {
	var raw []json.RawMessage
	if err := json.Unmarshal(readModuleFile(t, "testdata/toascii.json"), &raw); err != nil {
		t.Fatal(err)
	}
	run, passed := 0, 0
	for _, message := range raw {
		var test struct {
			Input  string
			Output *string
		}
		if json.Unmarshal(message, &test) != nil || test.Input == "" {
			continue
		}
		want := ""
		if test.Output != nil {
			want = *test.Output
		}
		run++
		u, err := Parse("https://" + test.Input + "/x")
		if u.Host() != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v; want %q", test.Input, u.Host(), err, want)
			continue
		}
		passed++
	}
	t.Logf("%d of %d cases pass", passed, run)
	if run < 30 {
		t.Errorf("only %d cases found", run)
	}
}
