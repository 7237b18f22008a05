package main

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ptools/internal/check"
)

// checks makes the reports of /check and of /metrics. Each is made at most once in a while, since it takes a second and
// starts processes. It is an http.Handler and a prometheus.Collector.
type checks struct {
	ctx context.Context // of the daemon

	mu     sync.Mutex // held while a report is made
	report *check.Report
	made   time.Time

	latest sync.Mutex // guards last, and is held for moments only
	last   *check.Report
	asked  bool // a report is made for /metrics
	work   sync.WaitGroup
}

// keepReport is how long a report stands.
const keepReport = time.Minute

// mostCheck bounds the time of a check.
const mostCheck = 30 * time.Second

// current returns a report that is not older than keepReport. It may take a second.
func (c *checks) current() *check.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report == nil || time.Since(c.made) > keepReport {
		ctx, cancel := context.WithTimeout(c.ctx, mostCheck)
		c.report = check.Run(ctx, 0)
		cancel()
		c.made = time.Now()
		c.latest.Lock()
		c.last = c.report
		c.latest.Unlock()
	}
	return c.report
}

// ServeHTTP shows the report: as a table, or as JSON to who accepts that or asks for ?format=json.
func (c *checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	report := c.current()
	var b bytes.Buffer
	kind, write := "text/plain; charset=utf-8", report.Text
	if r.URL.Query().Get("format") == "json" || r.Header.Get("Accept") == "application/json" {
		kind, write = "application/json", report.JSON
	}
	if err := write(&b); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(mostCheck))
	w.Write(b.Bytes()) // a client that has gone needs no answer
}

var worksDesc = prometheus.NewDesc("psampled_works",
	"1 where a feature of the kernel works by its best mechanism here, 0 where something stands in for it or nothing does; /check says why. "+
		"The first scrape has it tried, later ones show it.", []string{"feature"}, nil)

// Describe implements prometheus.Collector.
func (c *checks) Describe(ch chan<- *prometheus.Desc) { ch <- worksDesc }

// Collect implements prometheus.Collector. It shows the last report. If there is none it has one made, and does not wait.
func (c *checks) Collect(ch chan<- prometheus.Metric) {
	c.latest.Lock()
	defer c.latest.Unlock()
	if c.last == nil && !c.asked && c.ctx.Err() == nil {
		c.asked = true
		c.work.Go(func() { c.current() }) // ends with ctx; waited for by close
	}
	if c.last == nil {
		return
	}
	for _, l := range c.last.Lines {
		works := 0.0
		if l.State == check.Yes {
			works = 1
		}
		if l.State != check.Untried {
			ch <- prometheus.MustNewConstMetric(worksDesc, prometheus.GaugeValue, works, l.Feature)
		}
	}
}

// close waits for a report that is being made. The context must be done, and nothing served any more.
func (c *checks) close() { c.work.Wait() }
