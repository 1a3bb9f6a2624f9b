package segments

import "github.com/prometheus/client_golang/prometheus"

// Collector returns the Prometheus metrics of a directory's segments, read at each scrape. For nil there are none.
func Collector(s *Segments) prometheus.Collector { return collector{s} }

type collector struct{ segments *Segments }

var (
	metricBytes = prometheus.NewDesc("freshet_segments_bytes",
		"Bytes of closed WARC files, by where they are: moved, waiting to be moved, or in the cache of what was read.",
		[]string{"where"}, nil)
	metricFailing = prometheus.NewDesc("freshet_segments_failing", "Whether the last upload to the object store failed.", nil, nil)
)

// Describe implements prometheus.Collector.
func (collector) Describe(out chan<- *prometheus.Desc) {
	out <- metricBytes
	out <- metricFailing
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	if c.segments == nil {
		return
	}
	s := c.segments.Status()
	for where, bytes := range map[string]int64{"moved": s.MovedBytes, "waiting": s.WaitingBytes, "cache": s.CacheBytes} {
		out <- prometheus.MustNewConstMetric(metricBytes, prometheus.GaugeValue, float64(bytes), where)
	}
	failing := 0.0
	if s.Fault != nil {
		failing = 1
	}
	out <- prometheus.MustNewConstMetric(metricFailing, prometheus.GaugeValue, failing)
}
