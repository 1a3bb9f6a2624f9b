package webhook

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector returns the Prometheus metrics of a sender's hooks, read at each scrape. While sender returns nil there
// are none. A hook's labels are its place in Options.Hooks, from 1, and its host: the rest of its URL may be a
// secret.
func Collector(sender func() *Sender) prometheus.Collector { return collector{sender} }

type collector struct{ sender func() *Sender }

var (
	metricLines    = prometheus.NewDesc("freshet_webhook_lines_total", "Lines of the change feed that a webhook has taken.", []string{"hook", "host"}, nil)
	metricAttempts = prometheus.NewDesc("freshet_webhook_attempts_total", "Requests to a webhook, by whether it took what it was sent.", []string{"hook", "host", "result"}, nil)
	metricFailures = prometheus.NewDesc("freshet_webhook_failures", "Attempts that failed since the last that did not.", []string{"hook", "host"}, nil)
	metricLag      = prometheus.NewDesc("freshet_webhook_lag_seconds", "Age of the oldest change that a webhook is being told and has not taken; 0: none.", []string{"hook", "host"}, nil)
)

// Describe implements prometheus.Collector.
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{metricLines, metricAttempts, metricFailures, metricLag} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := c.sender()
	if s == nil {
		return
	}
	for _, r := range s.receivers {
		name, host := strconv.Itoa(r.number), r.URL.Host
		lag := 0.0
		if oldest := r.oldest.Load(); oldest != 0 {
			lag = max(0, s.o.Clock.Now().Sub(time.Unix(0, oldest)).Seconds())
		}
		out <- prometheus.MustNewConstMetric(metricLines, prometheus.CounterValue, float64(r.lines.Load()), name, host)
		out <- prometheus.MustNewConstMetric(metricAttempts, prometheus.CounterValue, float64(r.taken.Load()), name, host, "taken")
		out <- prometheus.MustNewConstMetric(metricAttempts, prometheus.CounterValue, float64(r.refused.Load()), name, host, "refused")
		out <- prometheus.MustNewConstMetric(metricFailures, prometheus.GaugeValue, float64(r.failures.Load()), name, host)
		out <- prometheus.MustNewConstMetric(metricLag, prometheus.GaugeValue, lag, name, host)
	}
}
