package main

import (
	"fmt"
	"io"
	"time"

	"ptools/internal/job"
	"ptools/internal/sample"
)

// meter shows on a terminal how far the sampling has come. A nil meter shows
// nothing.
type meter struct {
	w    io.Writer
	next time.Duration
}

// newMeter returns nil if no user would see the meter.
func newMeter(cfg *config, w io.Writer) *meter {
	if cfg.quiet || cfg.top || !job.IsTerminal(w) {
		return nil
	}
	return &meter{w: w, next: time.Second}
}

// show overwrites the line once a second.
func (m *meter) show(p *sample.Progress) {
	if m == nil || p.Elapsed < m.next {
		return
	}
	m.next = p.Elapsed.Truncate(time.Second) + time.Second
	fmt.Fprintf(m.w, "\r%v: %d samples, %d threads, %d late rounds\x1b[K",
		p.Elapsed.Truncate(time.Second), p.Rounds, p.Threads, p.Late)
}

// clear erases the line.
func (m *meter) clear() {
	if m != nil {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}
