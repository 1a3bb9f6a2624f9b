package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// TestDeploy holds that the files of deploy are YAML, and the chart after rendering. The variables that they set are
// settings.
func TestDeploy(t *testing.T) {
	settings := string(read(t, "docs/settings.md"))
	texts := map[string][]byte{"deploy/helm/templates/nodes.yaml": rendered(t)}
	for _, name := range []string{"deploy/compose.yaml", "deploy/cluster/compose.yaml", "deploy/helm/Chart.yaml", "deploy/helm/values.yaml"} {
		texts[name] = read(t, name)
	}
	variable := regexp.MustCompile(`FRESHET_([A-Z_]+)`)
	for name, text := range texts {
		documents := 0
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; documents++ {
			var document map[string]any
			if err := d.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			if len(document) == 0 {
				t.Errorf("%s: a document of it is empty", name)
			}
		}
		if documents == 0 {
			t.Errorf("%s is empty", name)
		}
		for _, found := range variable.FindAllSubmatch(text, -1) {
			setting := strings.ToLower(strings.ReplaceAll(string(found[1]), "_", "-"))
			if !strings.Contains(settings, "| `"+setting+"`") {
				t.Errorf("%s: %s is no setting", name, found[0])
			}
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rendered returns the chart's template as Helm renders it, with all that values.yaml can ask for.
func rendered(t *testing.T) []byte {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal(read(t, "deploy/helm/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	values["natsCredsSecret"], values["storageClass"], values["seeds"] = "secret", "fast", []string{"https://example.org/"}
	functions := template.FuncMap{
		"quote": func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
		"toJson": func(v any) (string, error) {
			raw, err := json.Marshal(v)
			return string(raw), err
		},
	}
	parsed, err := template.New("nodes").Option("missingkey=error").Funcs(functions).Parse(string(read(t, "deploy/helm/templates/nodes.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, map[string]any{"Values": values, "Release": map[string]string{"Name": "crawl"}}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
