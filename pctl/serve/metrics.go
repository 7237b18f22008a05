package serve

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the metrics of /metrics.
type metrics struct {
	registry   *prometheus.Registry
	requests   prometheus.Counter
	failed     prometheus.Counter
	gone       prometheus.Counter
	turnedAway prometheus.Counter
	refused    prometheus.Counter
	lacking    prometheus.Counter
	profiles   *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "psampled_" + name, Help: help})
	}
	m := &metrics{
		registry:   prometheus.NewRegistry(),
		requests:   counter("requests_total", "HTTP requests."),
		failed:     counter("failed_requests_total", "Requests for profiles that were answered with an error."),
		gone:       counter("clients_left_total", "Clients that went away before they had read their profile."),
		turnedAway: counter("clients_turned_away_total", "Clients that were told to try again because there were too many."),
		refused:    counter("connections_refused_total", "Connections that were closed at once because there were too many."),
		lacking:    counter("lacking_total", "Requests for profiles that failed, and connections that had to wait, because there was no descriptor or no memory."),
		profiles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "psampled_profiles_total", Help: "Profiles taken, by what they measure.",
		}, []string{"kind"}),
	}
	for _, kind := range []string{"cpu", "wall"} {
		m.profiles.WithLabelValues(kind)
	}
	m.registry.MustRegister(m.requests, m.failed, m.gone, m.turnedAway, m.refused, m.lacking, m.profiles, &sampling{s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler collects an answer before it sends any of it, and collects for one client at a time. So a client that reads
// slowly does not delay others.
func (m *metrics) handler(s *Server) http.Handler {
	page := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	var turn sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := buffered{header: w.Header(), status: http.StatusOK}
		turn.Lock()
		page.ServeHTTP(&b, r)
		turn.Unlock()
		s.patient(w)
		w.WriteHeader(b.status)
		w.Write(b.body.Bytes()) // a client that has gone needs no answer
	})
}

// buffered is an http.ResponseWriter that keeps the answer.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header         { return b.header }
func (b *buffered) WriteHeader(status int)      { b.status = status }
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }

// Register adds collectors to /metrics.
func (s *Server) Register(c ...prometheus.Collector) { s.metrics.registry.MustRegister(c...) }

// sampling collects what the sampler has done.
type sampling struct{ s *Server }

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("psampled_"+name, help, nil, nil)
}

var (
	targetsDesc = describe("targets", "Processes that the rules ask for.")
	clientsDesc = describe("clients", "Clients that wait for a profile, or read one.")
	sampledDesc = describe("sampled_processes", "Processes that are being sampled.")
	samplesDesc = describe("samples_total", "Samples taken.")
	lostDesc    = describe("lost_records_total", "Records of the processors' timers that found no room: samples, and births and ends of threads.")
	stopsDesc   = describe("stops_total", "Threads stopped to be sampled, and processes stopped for the stacks of all their threads.")
	pausesDesc  = describe("pause_seconds_total", "Time that threads were stopped.")
	longestDesc = describe("longest_pause_seconds", "Longest time that a thread was stopped.")
	timersDesc  = describe("timers", "1 where timers of the processors sample, which stop no thread; 0 where threads are stopped.")
)

// Describe implements prometheus.Collector.
func (c *sampling) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *sampling) Collect(ch chan<- prometheus.Metric) {
	stats := c.s.o.Sampler.Stats()
	gauge := func(d *prometheus.Desc, v float64) { ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	counter := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	timers := 1.0
	if c.s.o.Sampler.Stops() != nil {
		timers = 0
	}
	gauge(timersDesc, timers)
	gauge(targetsDesc, float64(len(c.s.o.Targets.Targets())))
	gauge(clientsDesc, float64(c.s.clients.Load()))
	gauge(sampledDesc, float64(stats.Sampled))
	gauge(longestDesc, stats.Longest.Seconds())
	counter(samplesDesc, float64(stats.Samples))
	counter(lostDesc, float64(stats.Lost))
	counter(stopsDesc, float64(stats.Stops))
	counter(pausesDesc, stats.Pauses.Seconds())
}

// quiet is the log of net/http for errors of clients. It discards them, because any client could fill a log.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
