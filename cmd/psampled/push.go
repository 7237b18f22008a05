package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ptools/internal/clean"
	"ptools/internal/continuous"
	"ptools/pctl/push"
	"ptools/pctl/targets"
)

// pushing samples all targets all the time, and sends the profiles. Methods of nil do nothing.
type pushing struct {
	loop   *continuous.Loop
	pusher *push.Pusher
	say    func(format string, args ...any)
}

// openPush makes d.pushing if there is a server to push to.
func (d *daemon) openPush() error {
	if d.Push.URL == "" {
		return nil
	}
	pusher, err := push.New(d.Push.Pusher())
	if err != nil {
		return err
	}
	d.pushing = &pushing{pusher: pusher, say: d.say}
	d.pushing.loop = &continuous.Loop{
		Sampler: d.sampler, Targets: d.watcher, Pusher: pusher, Interval: time.Duration(d.Push.Interval),
		Failed: func(t *targets.Target, err error) {
			d.say("process %d (%s) is not sampled: %v", t.PID, clean.Text(t.Comm), err)
		},
	}
	return nil
}

// run samples until ctx is done.
func (p *pushing) run(ctx context.Context) {
	if p != nil {
		p.loop.Run(ctx)
	}
}

// lastPush is how long the end waits for profiles that have not been sent.
const lastPush = 5 * time.Second

// Close sends the rest.
func (p *pushing) Close() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastPush)
	defer cancel()
	if n := p.pusher.Close(ctx); n > 0 {
		p.say("%d profiles could not be pushed before the end: %s", n, p.pusher.Counters().LastError)
	}
}

var (
	pushedDesc   = prometheus.NewDesc("psampled_push_profiles_total", "Profiles that were to be pushed, by what has become of them.", []string{"outcome"}, nil)
	failuresDesc = prometheus.NewDesc("psampled_push_failures_total", "Tries to push a profile that failed.", nil, nil)
	sentDesc     = prometheus.NewDesc("psampled_push_sent_bytes_total", "Bytes of profiles that the server has taken.", nil, nil)
	waitingDesc  = prometheus.NewDesc("psampled_push_waiting_bytes", "Bytes of profiles that wait for being pushed.", nil, nil)
	missedDesc   = prometheus.NewDesc("psampled_push_unsampled_targets", "Targets that cannot be sampled.", nil, nil)
)

// Describe implements prometheus.Collector.
func (p *pushing) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, ch) }

// Collect implements prometheus.Collector.
func (p *pushing) Collect(ch chan<- prometheus.Metric) {
	c := p.pusher.Counters()
	for outcome, n := range map[string]int64{
		"sent": c.Sent, "refused": c.Refused, "expired": c.Expired, "overflowed": c.Overflowed, "unprepared": p.loop.Unprepared(),
	} {
		ch <- prometheus.MustNewConstMetric(pushedDesc, prometheus.CounterValue, float64(n), outcome)
	}
	ch <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(c.Failures))
	ch <- prometheus.MustNewConstMetric(sentDesc, prometheus.CounterValue, float64(c.SentBytes))
	ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(c.Bytes))
	ch <- prometheus.MustNewConstMetric(missedDesc, prometheus.GaugeValue, float64(p.loop.Unsampled()))
}
