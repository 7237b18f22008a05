package sample

import (
	"context"
	"errors"
	"io"
	"time"

	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/pctl"
)

// Blocked is the time that the goroutines of a Go program waited for each other: for channels, for locks of package sync, and in select.
//
// It is sampled, unlike the block profile of a Go program: all goroutines are read at random moments, and what one does then counts for
// the time around. So waits count that have not ended, those of idle workers too, and how many there were is not known.
type Blocked struct{ p *profile.Profile }

// Blocked samples the goroutines of a Go program for d, without stopping it. The readings take a hundredth of a processor, but there
// is at least one. The error of another program satisfies pctl.ErrNoGo. It is an error if ctx is done earlier.
func (s *Sampler) Blocked(ctx context.Context, pid int, d time.Duration) (*Blocked, error) {
	if err := s.working(); err != nil {
		return nil, err
	}
	defer s.ending.Done()
	p, err := s.session.Grab(ctx, pid, &pctl.GrabOptions{ReadOnly: true}) // its errors say why not
	if err != nil {
		return nil, err
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	taken, err := sample.Blocked(ctx, pid, s.files, s.o.Period, d)
	switch {
	case errors.Is(err, sample.ErrNoGo):
		return nil, &pctl.Error{Op: "goroutines", PID: pid, Err: pctl.ErrNoGo}
	case err != nil:
		return nil, err
	}
	return &Blocked{taken}, nil
}

// Rounds is how often the goroutines were read.
func (b *Blocked) Rounds() int64 { return b.p.Goroutines.Rounds }

// WritePprof writes a gzipped profile.proto with the sample types samples/count, how often goroutines were met waiting, and
// delay/nanoseconds. The labels are those of the goroutines.
func (b *Blocked) WritePprof(w io.Writer) error { return b.p.Write(w, profile.Pprof, nil) }

// WriteCounts writes the text form of Go's block profiles, with samples in the place of counts.
func (b *Blocked) WriteCounts(w io.Writer) error { return b.p.WriteContentions(w) }
