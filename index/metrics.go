package index

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector returns the Prometheus metrics of an index, read at each scrape. While index returns nil there are none.
func Collector(index func() *Index) prometheus.Collector { return collector{index} }

type collector struct{ index func() *Index }

var metricLag = prometheus.NewDesc("freshet_index_lag_seconds", "Age of the oldest change that the full-text index is about to take; 0: none.", nil, nil)

// Describe implements prometheus.Collector.
func (collector) Describe(out chan<- *prometheus.Desc) { out <- metricLag }

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	x := c.index()
	if x == nil {
		return
	}
	lag := 0.0
	if oldest := x.oldest.Load(); oldest != 0 {
		lag = max(0, x.o.Clock.Now().Sub(time.Unix(0, oldest)).Seconds())
	}
	out <- prometheus.MustNewConstMetric(metricLag, prometheus.GaugeValue, lag)
}
