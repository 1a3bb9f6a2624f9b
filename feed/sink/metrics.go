package sink

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector returns the Prometheus metrics of sinks, read at each scrape. The sinks have the names of their Options.
func Collector(sinks func() []*Sink) prometheus.Collector { return collector{sinks} }

type collector struct{ sinks func() []*Sink }

var (
	metricDocuments = prometheus.NewDesc("freshet_sink_documents_total", "Documents handed to a sink, by whether it took them permanently or refuses them.", []string{"sink", "result"}, nil)
	metricFailures  = prometheus.NewDesc("freshet_sink_failures", "Attempts that failed since the last that did not.", []string{"sink"}, nil)
	metricLag       = prometheus.NewDesc("freshet_sink_lag_seconds", "Age of the oldest change that a sink is being handed and has not taken; 0: none.", []string{"sink"}, nil)
)

// Describe implements prometheus.Collector.
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{metricDocuments, metricFailures, metricLag} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.sinks() {
		lag := 0.0
		if oldest := s.oldest.Load(); oldest != 0 {
			lag = max(0, s.o.Clock.Now().Sub(time.Unix(0, oldest)).Seconds())
		}
		out <- prometheus.MustNewConstMetric(metricDocuments, prometheus.CounterValue, float64(s.put.Load()), s.o.Name, "taken")
		out <- prometheus.MustNewConstMetric(metricDocuments, prometheus.CounterValue, float64(s.refused.Load()), s.o.Name, "refused")
		out <- prometheus.MustNewConstMetric(metricFailures, prometheus.GaugeValue, float64(s.failures.Load()), s.o.Name)
		out <- prometheus.MustNewConstMetric(metricLag, prometheus.GaugeValue, lag, s.o.Name)
	}
}
