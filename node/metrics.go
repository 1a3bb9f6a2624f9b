package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"freshet/crawl"
)

// Collector returns the node's Prometheus metrics. Each scrape reads the counters that Status also reads. Labels are
// error classes and refusal reasons, which are few and fixed.
func (n *Node) Collector() prometheus.Collector { return collector{n} }

type collector struct{ node *Node }

var (
	metricPages   = prometheus.NewDesc("freshet_pages_total", "Pages stored, requisites apart.", nil, nil)
	metricNeeded  = prometheus.NewDesc("freshet_requisites_total", "Stored of what pages need to be shown.", nil, nil)
	metricBytes   = prometheus.NewDesc("freshet_received_bytes_total", "Bytes received.", nil, nil)
	metricSame    = prometheus.NewDesc("freshet_not_modified_total", "Answers 304.", nil, nil)
	metricChanged = prometheus.NewDesc("freshet_changed_total",
		"Visits that saw a page's content changed.", nil, nil)
	metricSent = prometheus.NewDesc("freshet_links_sent_total",
		"Links to partitions of other nodes or shards, sent or held back because they repeat what was sent.", []string{"way"}, nil)
	metricErrors = prometheus.NewDesc("freshet_errors_total",
		"Fetches that brought no page.", []string{"class"}, nil)
	metricRefused = prometheus.NewDesc("freshet_refused_total",
		"Links and pages that a gate refused.", []string{"reason"}, nil)
	metricBackground = prometheus.NewDesc("freshet_background_failures_total",
		"Background work that failed and is tried again.", []string{"work"}, nil)
	metricFetching   = prometheus.NewDesc("freshet_fetches", "Fetches under way.", nil, nil)
	metricProcessing = prometheus.NewDesc("freshet_uncommitted_pages",
		"Pages handed out and not yet on disk.", nil, nil)
	metricSites   = prometheus.NewDesc("freshet_sites", "Sites by state.", []string{"state"}, nil)
	metricQueued  = prometheus.NewDesc("freshet_queued_pages", "Pages queued.", []string{"queue"}, nil)
	metricShelved = prometheus.NewDesc("freshet_robots_unreachable_pages",
		"Queued pages of sites whose robots.txt was out of reach too often to wait for.", nil, nil)
	metricKnown  = prometheus.NewDesc("freshet_known_pages", "Pages known.", nil, nil)
	metricSweeps = prometheus.NewDesc("freshet_sweeps_total",
		"Times the past was cut down to what is to be kept.", []string{"result"}, nil)
	metricPruned = prometheus.NewDesc("freshet_pruned_total",
		"What was let go of the past.", []string{"what"}, nil)
	metricFreed = prometheus.NewDesc("freshet_warc_reclaimed_bytes_total",
		"Bytes that rewriting WARC files has freed.", nil, nil)
	metricWARC = prometheus.NewDesc("freshet_warc_bytes",
		"Bytes of WARC files as the last sweep found them.", []string{"part"}, nil)
	metricFleet = prometheus.NewDesc("freshet_fleet_fetches",
		"Fetches allowed, under way, and waiting with a page.", []string{"state"}, nil)
	metricFleetQueue = prometheus.NewDesc("freshet_fleet_queue_pages",
		"Pages fetched and not yet processed.", nil, nil)
	metricFleetRate = prometheus.NewDesc("freshet_fleet_pages_per_second",
		"Recent rates: what a busy fetch brings, what is processed without a pause, what waiting loses.", []string{"rate"}, nil)
	metricFleetCost = prometheus.NewDesc("freshet_fleet_cost",
		"Cost of the fleet in pages a second: recently, and by the model with the best fixed number and switched.", []string{"of"}, nil)
	metricConsumerQueue = prometheus.NewDesc("freshet_fleet_consumer_queue_records",
		"Records not read by the index or a sink.", []string{"consumer"}, nil)
	metricStarved = prometheus.NewDesc("freshet_fleet_starved_seconds_total",
		"Time in which a worker had nothing to process.", nil, nil)
	metricWaited = prometheus.NewDesc("freshet_fleet_waited_seconds_total",
		"Time that fetches waited with a page for a place in the queue.", nil, nil)
	metricChanges = prometheus.NewDesc("freshet_fleet_changes_total",
		"Changes of the number of fetches allowed.", nil, nil)
	metricVariation = prometheus.NewDesc("freshet_fleet_service_variation",
		"Coefficient of variation of the times between processed pages.", nil, nil)
	metricFreshness = prometheus.NewDesc("freshet_refresh_freshness",
		"Share of the copies kept fresh that is believed to be up to date.", []string{"by"}, nil)
	metricAge = prometheus.NewDesc("freshet_refresh_age_seconds",
		"Mean time since a copy's page first changed, as it is believed.", nil, nil)
	metricKept   = prometheus.NewDesc("freshet_refresh_pages", "Pages kept fresh.", nil, nil)
	metricBudget = prometheus.NewDesc("freshet_refresh_budget_requests",
		"Requests an interval that may be made.", nil, nil)
	metricSpent = prometheus.NewDesc("freshet_refresh_requests",
		"Requests made in an interval.", []string{"interval"}, nil)
	metricVisits = prometheus.NewDesc("freshet_refresh_visits",
		"Visits that were picked and not made yet.", []string{"state"}, nil)
	metricFindings = prometheus.NewDesc("freshet_refresh_changed_ratio",
		"Share of recent visits that were expected to find a change, and that found one.", []string{"of"}, nil)
	metricEmbarrassment = prometheus.NewDesc("freshet_refresh_embarrassing_queries_per_day",
		"Queries a day that are expected to be answered by a stale copy, clicked, and found wrong or gone.", []string{"by"}, nil)
	metricLate = prometheus.NewDesc("freshet_late_partitions",
		"Partitions of this node that wait because their log in the cluster takes no entries.", nil, nil)
	metricDisk = prometheus.NewDesc("freshet_disk_free_bytes",
		"Free bytes of the data directory's disk.", nil, nil)
)

// Describe implements prometheus.Collector.
func (collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		metricPages, metricNeeded, metricBytes, metricSame, metricChanged, metricSent, metricErrors, metricRefused, metricBackground,
		metricFetching, metricProcessing, metricSites, metricQueued, metricShelved, metricKnown, metricDisk,
		metricSweeps, metricPruned, metricFreed, metricWARC,
		metricFleet, metricFleetQueue, metricFleetRate, metricFleetCost, metricConsumerQueue,
		metricStarved, metricWaited, metricChanges, metricVariation,
		metricFreshness, metricAge, metricKept, metricBudget, metricSpent, metricVisits, metricFindings,
		metricEmbarrassment, metricLate,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := c.node.Status()
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	counter(metricPages, s.Pages)
	counter(metricNeeded, s.Requisites)
	counter(metricBytes, s.Bytes)
	counter(metricSame, s.NotModified)
	counter(metricChanged, s.Changed)
	counter(metricSent, s.LinksSent, "sent")
	counter(metricSent, s.LinksHeld, "held_back")
	for class, n := range s.Errors {
		counter(metricErrors, n, class)
	}
	for reason, n := range s.Refused {
		counter(metricRefused, n, reason)
	}
	for work, n := range s.Background {
		counter(metricBackground, n, work)
	}
	gauge(metricFetching, int64(s.Connections))
	c.collectFleet(out, s.Fleet)
	c.collectFreshness(out, s.Refresh)
	gauge(metricProcessing, int64(s.Processing))
	gauge(metricSites, int64(s.SitesReady), "ready")
	gauge(metricSites, int64(s.SitesWaiting), "waiting")
	gauge(metricQueued, s.QueuedNew, "new")
	gauge(metricQueued, s.QueuedDue, "due")
	gauge(metricShelved, s.RobotsWaiting)
	gauge(metricKnown, s.URLsDiscovered)
	gauge(metricDisk, s.DiskFreeBytes)
	if c.node.opt.Cluster != nil {
		late, _ := c.node.opt.Cluster.Late()
		gauge(metricLate, int64(late))
	}
	swept, sweeps, faults := c.node.keeper.swept()
	counter(metricSweeps, sweeps-faults, "done")
	counter(metricSweeps, faults, "failed")
	counter(metricPruned, swept.Versions, "versions")
	counter(metricPruned, swept.Captures, "captures")
	counter(metricPruned, swept.Forgotten, "changes")
	counter(metricFreed, swept.FreedBytes)
	gauge(metricWARC, swept.FileBytes, "all")
	gauge(metricWARC, swept.LiveBytes, "live")
}

// collectFreshness collects the metrics of the copy, if it is kept fresh and its freshness is known.
func (collector) collectFreshness(out chan<- prometheus.Metric, f *crawl.Freshness) {
	if f == nil {
		return
	}
	for _, m := range []struct {
		of    *prometheus.Desc
		value float64
		label []string
	}{
		{metricFreshness, f.Freshness, []string{"pages"}}, {metricFreshness, f.Weighted, []string{"weight"}},
		{metricAge, f.MeanAgeS, nil}, {metricKept, float64(f.Pages), nil}, {metricBudget, float64(f.Budget), nil},
		{metricSpent, float64(f.Requests), []string{"this"}}, {metricSpent, float64(f.Last), []string{"last"}},
		{metricVisits, float64(f.UnderWay), []string{"planned"}}, {metricVisits, float64(f.Waiting), []string{"waiting"}},
		{metricFindings, f.ExpectedChanged, []string{"expected"}}, {metricFindings, f.FoundChanged, []string{"found"}},
	} {
		out <- prometheus.MustNewConstMetric(m.of, prometheus.GaugeValue, m.value, m.label...)
	}
	if e := f.Embarrassment(); e != nil {
		for by, value := range map[string]float64{"policy": e.Expected, "uniform": e.Uniform, "double_budget": e.Double} {
			out <- prometheus.MustNewConstMetric(metricEmbarrassment, prometheus.GaugeValue, value, by)
		}
	}
}

func (collector) collectFleet(out chan<- prometheus.Metric, s FleetStatus) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	for _, one := range s.Consumers {
		gauge(metricConsumerQueue, float64(one.Queue), one.Name)
	}
	gauge(metricFleet, float64(s.Allowed), "allowed")
	gauge(metricFleet, float64(s.Active), "active")
	gauge(metricFleet, float64(s.Waiting), "waiting")
	gauge(metricFleetQueue, float64(s.Queue))
	gauge(metricFleetRate, s.Arrival, "fetch")
	gauge(metricFleetRate, s.Service, "process")
	gauge(metricFleetRate, s.Loss, "loss")
	gauge(metricFleetCost, s.Cost, "now")
	gauge(metricFleetCost, s.ModelFixedCost, "model_fixed")
	gauge(metricFleetCost, s.ModelCost, "model_switched")
	gauge(metricVariation, s.Variation)
	counter(metricStarved, s.StarvedS)
	counter(metricWaited, s.WaitedS)
	counter(metricChanges, float64(s.Changes))
}
