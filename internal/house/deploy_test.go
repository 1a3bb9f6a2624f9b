package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// secrets are the values of the chart that name secrets.
var secrets = []string{"tokenSecret", "windowCertSecret", "natsCredsSecret", "natsCASecret", "natsCertSecret", "s3Secret", "s3CASecret"}

// TestDeploy holds that the files of deploy are YAML, and the chart after rendering. The variables that they set are
// settings.
func TestDeploy(t *testing.T) {
	settings := string(read(t, "docs/settings.md"))
	texts := map[string][]byte{
		"deploy/helm/templates/nodes.yaml": rendered(t, secrets...), "deploy/helm/templates/nodes.yaml without secrets": rendered(t),
	}
	for _, name := range []string{"deploy/compose.yaml", "deploy/cluster/compose.yaml", "deploy/cluster/compose.tls.yaml", "deploy/helm/Chart.yaml", "deploy/helm/values.yaml"} {
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

// TestDeployPaths holds that the files of deploy agree on paths, ports and names: what a Compose file mounts is there,
// unless its head says that the user writes it; containers get their settings and data where the image looks for them;
// the chart's settings are settings; the window's port is the default one.
func TestDeployPaths(t *testing.T) {
	image := string(read(t, "deploy/Dockerfile"))
	config := regexp.MustCompile(`"--config", "([^"]+)"`).FindStringSubmatch(image)[1]
	data := regexp.MustCompile(`FRESHET_DATA=(\S+)`).FindStringSubmatch(image)[1]
	for _, name := range []string{"deploy/compose.yaml", "deploy/cluster/compose.yaml", "deploy/cluster/compose.tls.yaml"} {
		text := read(t, name)
		head, _, _ := bytes.Cut(text, []byte("\nservices:"))
		var file struct {
			Services map[string]struct {
				Volumes []string `yaml:"volumes"`
				Build   struct {
					Dockerfile string `yaml:"dockerfile"`
					Context    string `yaml:"context"`
				} `yaml:"build"`
			} `yaml:"services"`
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for service, of := range file.Services {
			to := map[string]bool{}
			for _, volume := range of.Volumes {
				parts := strings.Split(volume, ":")
				to[parts[1]] = true
				if !strings.HasPrefix(parts[0], "./") || bytes.Contains(head, []byte(strings.TrimPrefix(parts[0], "./")+" beside this file")) {
					continue
				}
				if _, err := os.Stat(filepath.Join("../..", path.Dir(name), parts[0])); err != nil {
					t.Errorf("%s: %s: %v", name, service, err)
				}
			}
			if of.Build.Dockerfile == "" {
				continue
			}
			if !to[config] || !to[data] {
				t.Errorf("%s: %s mounts %v, and the image reads %s and %s", name, service, of.Volumes, config, data)
			}
			if _, err := os.Stat(filepath.Join("../..", path.Dir(name), of.Build.Context, of.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %s: %v", name, service, err)
			}
		}
	}

	chart := rendered(t)
	var mounted []string
	for _, m := range containerOf(t, chart).VolumeMounts {
		mounted = append(mounted, m.MountPath)
	}
	if !slices.Contains(mounted, path.Dir(config)) || !slices.Contains(mounted, data) {
		t.Errorf("the chart mounts %v, and the image reads %s and %s", mounted, config, data)
	}
	var kept struct {
		Data map[string]string `yaml:"data"`
	}
	if err := yaml.Unmarshal(chart, &kept); err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := yaml.Unmarshal([]byte(kept.Data[path.Base(config)]), &settings); err != nil || len(settings) == 0 {
		t.Fatalf("%s of the chart has %d settings: %v", path.Base(config), len(settings), err)
	}
	known := string(read(t, "docs/settings.md"))
	for key := range settings {
		if !strings.Contains(known, "| `"+key+"`") {
			t.Errorf("%s of the chart is no setting", key)
		}
	}
	if seeds := fmt.Sprint(settings["seeds"]); path.Dir(seeds) != path.Dir(config) || kept.Data[path.Base(seeds)] == "" {
		t.Errorf("the chart's seeds are %s, and it has %d files", seeds, len(kept.Data))
	}
	port := regexp.MustCompile("\\| `listen` \\| 127.0.0.1:(\\d+) ").FindStringSubmatch(known)[1]
	for name, has := range map[string]string{"deploy/helm/templates/nodes.yaml": "port: " + port + "}", "deploy/monitoring/prometheus.yml": ":" + port + `"`} {
		if !strings.Contains(string(read(t, name)), has) {
			t.Errorf("%s has no %q: the window's port is %s", name, has, port)
		}
	}
}

// TestDeploySecrets holds that the chart mounts the secrets that the values name, and no others. A variable that names
// a file names one below a mounted path.
func TestDeploySecrets(t *testing.T) {
	for n := range len(secrets) + 1 {
		names := secrets[:n]
		c := containerOf(t, rendered(t, names...))
		var mounted, given []string
		for _, m := range c.VolumeMounts {
			if m.ReadOnly {
				mounted = append(mounted, m.MountPath)
			}
		}
		for _, name := range names {
			given = append(given, "the-"+name)
		}
		if got := c.secrets(); !slices.Equal(got, given) {
			t.Errorf("%v: secrets %v, want %v", names, got, given)
		}
		used := map[string]bool{}
		for _, v := range c.Env {
			if !strings.HasPrefix(v.Value, "/") {
				continue
			}
			used[path.Dir(v.Value)] = true
			if !slices.Contains(mounted, path.Dir(v.Value)) {
				t.Errorf("%v: %s is %s, which is not mounted: %v", names, v.Name, v.Value, mounted)
			}
		}
		if len(used) != len(mounted) {
			t.Errorf("%v: no variable names a file in one of %v", names, mounted)
		}
	}
}

// TestDeployWindow holds that the chart's Service has the window's port if and only if a node listens there, which
// needs a token, and then either TLS or leave to do without.
func TestDeployWindow(t *testing.T) {
	for _, names := range [][]string{nil, {"windowCertSecret"}, {"tokenSecret"}, {"tokenSecret", "windowCertSecret"}} {
		text := rendered(t, names...)
		set := map[string]string{}
		for _, v := range containerOf(t, text).Env {
			set[v.Name] = v.Value
		}
		open := slices.Contains(names, "tokenSecret")
		if has := bytes.Contains(text, []byte("name: window, port: 8350}")); has != open {
			t.Errorf("%v: the Service has the window's port: %v, want %v", names, has, open)
		}
		if listens := set["FRESHET_LISTEN"] == ":8350" && set["FRESHET_TOKEN_FILE"] != ""; listens != open {
			t.Errorf("%v: a node listens for other machines: %v, want %v", names, listens, open)
		}
		if encrypted, plain := set["FRESHET_TLS_CERT"] != "" && set["FRESHET_TLS_KEY"] != "", set["FRESHET_PLAIN_HTTP"] == "true"; open && encrypted == plain {
			t.Errorf("%v: TLS %v, plain HTTP %v", names, encrypted, plain)
		}
	}
}

// TestDeployRollsOut holds that a new pod has time to take its share before the next one ends, that a drain of machines
// ends one pod at a time, and that the program can write temporary files. A service manager waits for a node that reads
// a large crawl.
func TestDeployRollsOut(t *testing.T) {
	text := rendered(t)
	budget, pause := "", 0
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document struct {
			Kind string `yaml:"kind"`
			Spec struct {
				MinReadySeconds int `yaml:"minReadySeconds"`
				MaxUnavailable  int `yaml:"maxUnavailable"`
				Selector        struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				} `yaml:"selector"`
			} `yaml:"spec"`
		}
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil && document.Kind != "Service" { // its selector is another kind of map
			t.Fatal(err)
		}
		switch document.Kind {
		case "PodDisruptionBudget":
			budget = fmt.Sprint(document.Spec.MaxUnavailable, document.Spec.Selector.MatchLabels)
		case "StatefulSet":
			pause = document.Spec.MinReadySeconds
		}
	}
	if budget != "1 map[app:crawl]" {
		t.Errorf("the disruption budget is %q, want one pod of the crawl", budget)
	}
	if pause < 30 {
		t.Errorf("a pod counts as available after %d s: it takes its share after up to 30", pause)
	}
	temporary := false
	for _, m := range containerOf(t, text).VolumeMounts {
		temporary = temporary || m.MountPath == "/tmp" && !m.ReadOnly
	}
	if !temporary {
		t.Error("/tmp is not mounted, and the image is read-only")
	}
	for name, line := range map[string]string{"deploy/Dockerfile": " /tmp\n", "deploy/freshet.service": "\nTimeoutStartSec=infinity\n"} {
		if !strings.Contains(string(read(t, name)), line) {
			t.Errorf("%s has no line with %q", name, line)
		}
	}
}

// container is what a pod of the chart has of secrets.
type container struct {
	Env []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	EnvFrom []struct {
		SecretRef struct {
			Name string `yaml:"name"`
		} `yaml:"secretRef"`
	} `yaml:"envFrom"`
	VolumeMounts []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
	volumes map[string]string // the secret of each volume
}

// secrets returns the mounted secrets and those whose variables are set, in the order of the list of that name.
func (c container) secrets() (all []string) {
	has := map[string]bool{}
	for _, m := range c.VolumeMounts {
		has[c.volumes[m.Name]] = true
	}
	for _, from := range c.EnvFrom {
		has[from.SecretRef.Name] = true
	}
	for _, name := range secrets {
		if has["the-"+name] {
			all = append(all, "the-"+name)
		}
	}
	return all
}

// containerOf returns the container of a rendered chart.
func containerOf(t *testing.T, text []byte) container {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document struct {
			Kind string `yaml:"kind"`
			Spec struct {
				Template struct {
					Spec struct {
						Containers []container `yaml:"containers"`
						Volumes    []struct {
							Name   string `yaml:"name"`
							Secret struct {
								SecretName string `yaml:"secretName"`
							} `yaml:"secret"`
						} `yaml:"volumes"`
					} `yaml:"spec"`
				} `yaml:"template"`
			} `yaml:"spec"`
		}
		if err := d.Decode(&document); err != nil {
			t.Fatal(err)
		}
		if document.Kind != "StatefulSet" {
			continue
		}
		pod := document.Spec.Template.Spec
		c := pod.Containers[0]
		c.volumes = map[string]string{}
		for _, v := range pod.Volumes {
			c.volumes[v.Name] = v.Secret.SecretName
		}
		return c
	}
}

// rendered returns the chart's template as Helm renders it, with the values of that name set to "the-NAME".
func rendered(t *testing.T, names ...string) []byte {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal(read(t, "deploy/helm/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	values["storageClass"], values["seeds"] = "fast", []string{"https://example.org/"}
	for _, name := range names {
		values[name] = "the-" + name
	}
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
