package sample

import (
	"context"
	"testing"
	"time"

	"ptools/internal/profile"
)

// slowImage needs until open is closed to find a name.
type slowImage struct {
	Image
	open      chan struct{}
	asked     chan struct{} // has room for one
	refreshed *int
}

func (m *slowImage) Prepare(profile.Addr) {
	select {
	case m.asked <- struct{}{}:
	default:
	}
	<-m.open
}

func (m *slowImage) Refresh() bool { *m.refreshed++; return m.Image.Refresh() }

// TestRoundsDoNotWaitForNames: while names are being looked up, rounds continue, and
// the map for the look-ups stays.
func TestRoundsDoNotWaitForNames(t *testing.T) {
	w := newWorld(1)
	open, asked, refreshed := make(chan struct{}), make(chan struct{}, 1), 0
	src := w.source()
	image := src.Image
	src.Image = func() (Image, error) {
		m, err := image()
		return &slowImage{m, open, asked, &refreshed}, err
	}
	const rounds = 2 * maxRefresh / (10 * time.Millisecond)
	pc := uint64(0)
	c := &fakeClock{run: func(_, _ time.Duration) { pc++; w.threads[100].spin(0x1000 + pc) }}
	whileAsked := 0
	s := New([]*Source{src}, &Options{
		Period: 10 * time.Millisecond, For: 2 * maxRefresh, Clock: c,
		Progress: func(p *Progress) {
			if p.Rounds == 1 {
				<-asked
			}
			if p.Rounds == int64(rounds) {
				whileAsked = refreshed
				close(open)
			}
		},
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s.Cost().Rounds != int64(rounds) || whileAsked != 0 {
		t.Errorf("%d rounds, %d readings of the map while names were looked up", s.Cost().Rounds, whileAsked)
	}
	if got := s.Profile().Total().Samples; got != int64(rounds) {
		t.Errorf("%d samples", got)
	}
}
