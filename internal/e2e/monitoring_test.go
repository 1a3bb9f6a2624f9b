package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const monitoring = "deploy/monitoring"

// TestAlerts has a real Prometheus scrape a real crawl with the rules of deploy/monitoring. Prometheus accepts all
// rules, has the crawl's metrics, and fires when the test kills the crawl. Its own program tests the rules on series
// of days.
func TestAlerts(t *testing.T) {
	dependOnSources(t)
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("Prometheus is not installed: run make setup")
	}
	folder := filepath.Join(repository, monitoring)
	run(t, "promtool", "check", "config", filepath.Join(folder, "prometheus.yml"))
	run(t, "promtool", "test", "rules", filepath.Join(folder, "alerts_test.yml"))

	dir := t.TempDir()
	crawl, board := freeAddress(t), freeAddress(t)
	config := filepath.Join(dir, "demo.yaml")
	settings := demoWeb(t, config) + fmt.Sprintf("\nlisten: %s\nrefresh: true\nbudget: 100000\ndata: %s\n", crawl, filepath.Join(dir, "data"))
	writeText(t, config, settings)
	daemon := startDaemon(t, config)

	// The file is as shipped, except for the address and for times that are too long for a test.
	waits := regexp.MustCompile(`(?m)^(\s+for:) .*$`)
	rules := waits.ReplaceAllString(string(read(t, filepath.Join(folder, "alerts.yml"))), "$1 0s")
	writeText(t, filepath.Join(dir, "alerts.yml"), rules)
	scrape := strings.NewReplacer("127.0.0.1:8350", crawl, "15s", "1s").Replace(string(read(t, filepath.Join(folder, "prometheus.yml"))))
	writeText(t, filepath.Join(dir, "prometheus.yml"), scrape)
	server := exec.Command(prometheus, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "series"),
		"--web.listen-address", board)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	})

	await(t, "a crawl that is scraped", func() bool { return sample(board, "/api/v1/query?query=freshet_pages_total>0") != "" })
	if firing := sample(board, "/api/v1/alerts"); strings.Contains(firing, "FreshetDown") || strings.Contains(firing, "FreshetDiskLow") {
		t.Errorf("of a crawl that runs: %s", firing)
	}
	for _, name := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		if loaded := sample(board, "/api/v1/rules"); !strings.Contains(loaded, name[1]) || strings.Contains(loaded, `"health":"err"`) {
			t.Errorf("rule %s: %s", name[1], loaded)
		}
	}
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "an alert that the crawl is down", func() bool {
		return strings.Contains(sample(board, "/api/v1/alerts"), `"alertname":"FreshetDown"`)
	})
}

// sample returns the answer of Prometheus, or "" if Prometheus is not ready or has nothing.
func sample(address, path string) string {
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || strings.Contains(string(body), `"result":[]`) {
		return ""
	}
	return string(body)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestDashboardOfGrafana holds that the metrics and labels that the dashboard and the alerts name are Freshet's.
func TestDashboardOfGrafana(t *testing.T) {
	dependOnSources(t)
	labels := metricLabels(t)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(read(t, filepath.Join(repository, monitoring, "grafana.json")), &board); err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`freshet_[a-z_]+`)
	panels := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			panels++
			for _, metric := range name.FindAllString(target.Expr, -1) {
				known, ok := labels[metric]
				if !ok {
					t.Errorf("%s: no metric %s", panel.Title, metric)
				}
				for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
					if label[1] != "instance" && !slices.Contains(known, label[1]) {
						t.Errorf("%s: %s has no label %s", panel.Title, metric, label[1])
					}
				}
			}
		}
	}
	if panels < 20 {
		t.Errorf("%d queries, want 20 or more", panels)
	}
	for _, metric := range name.FindAllString(string(read(t, filepath.Join(repository, monitoring, "alerts.yml"))), -1) {
		if _, ok := labels[metric]; !ok {
			t.Errorf("alerts: no metric %s", metric)
		}
	}
}

// metricLabels returns the labels of each metric, as the sources describe them.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	described := regexp.MustCompile(`NewDesc\(\s*"(freshet_\w+)",\s*"[^"]*",\s*(nil|\[\]string\{[^}]*\})`)
	labels := map[string][]string{}
	for _, folder := range []string{"node", "feed"} {
		err := filepath.WalkDir(filepath.Join(repository, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			source, err := os.ReadFile(path)
			for _, found := range described.FindAllStringSubmatch(string(source), -1) {
				labels[found[1]] = nil
				for _, label := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(found[2], -1) {
					labels[found[1]] = append(labels[found[1]], label[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return labels
}
