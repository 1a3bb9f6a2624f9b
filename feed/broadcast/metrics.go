package broadcast

import "github.com/prometheus/client_golang/prometheus"

// Collector returns the feed's Prometheus metrics, read from totals at each scrape. While ok is false there are none.
func Collector(totals func() (t Totals, ok bool)) prometheus.Collector { return collector{totals} }

type collector struct{ totals func() (Totals, bool) }

var (
	metricClients   = prometheus.NewDesc("freshet_feed_clients", "Clients of the feed that are connected.", []string{"kind"}, nil)
	metricChunks    = prometheus.NewDesc("freshet_feed_chunks", "Chunks of the repository.", nil, nil)
	metricSent      = prometheus.NewDesc("freshet_feed_chunks_sent_total", "Decisions: chunks sent, to whomever.", nil, nil)
	metricLeft      = prometheus.NewDesc("freshet_feed_sent_bytes_total", "Bytes that have left: all; chunks, each counted once; repair of what a multicast lost.", []string{"of"}, nil)
	metricOver      = prometheus.NewDesc("freshet_feed_passed_over_total", "Times that a client was too slow.", nil, nil)
	metricFreshness = prometheus.NewDesc("freshet_feed_freshness", "Part of the subscribers' pages that equal the repository's.", []string{"over"}, nil)
	metricAge       = prometheus.NewDesc("freshet_feed_age_seconds", "Mean age of the subscribers' pages.", []string{"over"}, nil)
	metricLag       = prometheus.NewDesc("freshet_feed_item_lag_seconds", "From a page's change to its arrival.", []string{"quantile"}, nil)
	metricDownloads = prometheus.NewDesc("freshet_feed_downloads_total", "Downloaders who left.", []string{"result"}, nil)
	metricDelay     = prometheus.NewDesc("freshet_feed_download_delay_seconds", "Mean time of a download, the unserved counted.", nil, nil)
)

// Describe implements prometheus.Collector.
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{metricClients, metricChunks, metricSent, metricLeft, metricOver, metricFreshness,
		metricAge, metricLag, metricDownloads, metricDelay} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	t, ok := c.totals()
	if !ok {
		return
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(metricClients, float64(t.Subscribers), "subscriber")
	gauge(metricClients, float64(t.Downloaders), "downloader")
	gauge(metricChunks, float64(t.Chunks))
	counter(metricSent, t.ChunksSent)
	counter(metricLeft, t.SentBytes, "all")
	counter(metricLeft, t.ChunkBytes, "chunks")
	counter(metricLeft, t.RepairedBytes, "repair")
	counter(metricOver, t.PassedOver)
	gauge(metricFreshness, t.Freshness, "clients")
	gauge(metricFreshness, t.FreshnessData, "data")
	gauge(metricAge, t.AgeS, "clients")
	gauge(metricAge, t.AgeDataS, "data")
	gauge(metricLag, t.ItemLagP50S, "0.5")
	gauge(metricLag, t.ItemLagP99S, "0.99")
	counter(metricDownloads, int64(t.Downloads), "served")
	counter(metricDownloads, int64(t.DownloadsFailed-t.Downloaders), "left")
	gauge(metricDelay, t.DownloadDelayS)
}
