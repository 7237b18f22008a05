package sample

import (
	"context"
	"sync"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/source"
)

// slowImage needs until open is closed to find a name.
type slowImage struct {
	source.Image
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

func (m *slowImage) Refresh() { *m.refreshed++; m.Image.Refresh() }

// TestRoundsDoNotWaitForNames: while names are being looked up, rounds continue, and
// the map for the look-ups stays.
func TestRoundsDoNotWaitForNames(t *testing.T) {
	w := newWorld(1)
	open, asked, refreshed := make(chan struct{}), make(chan struct{}, 1), 0
	src := w.source()
	image := src.Image
	src.Image = func() (source.Image, error) {
		m, err := image()
		return &slowImage{m, open, asked, &refreshed}, err
	}
	const rounds = 2 * maxRefresh / (10 * time.Millisecond)
	pc := uint64(0)
	c := &fakeClock{run: func(_, _ time.Duration) { pc++; w.threads[100].spin(0x1000 + pc) }}
	whileAsked := 0
	s := New([]*source.Process{src}, &Options{
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

// preparedImage reports names that are asked for before the namer has looked them up.
type preparedImage struct {
	source.Image
	mu       sync.Mutex
	prepared map[profile.Addr]bool
	awaited  int
	over     bool
}

func (m *preparedImage) Prepare(a profile.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prepared[a] = true
}

func (m *preparedImage) Resolve(a profile.Addr, dst []profile.Frame) ([]profile.Frame, profile.Mapping) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over && !m.prepared[a] {
		m.awaited++
	}
	return m.Image.Resolve(a, dst)
}

func (m *preparedImage) Refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.prepared) // the code that is known now may be in a file that nothing has read yet
	m.Image.Refresh()
}

// TestRoundsReadNoSymbols: no round looks up a name that the namer has not looked up, also when each round meets new
// addresses, of which some are in no code, and the maps are read again.
func TestRoundsReadNoSymbols(t *testing.T) {
	w := newWorld(1)
	src := w.source()
	image := src.Image
	var m *preparedImage
	src.Image = func() (source.Image, error) {
		inner, err := image()
		m = &preparedImage{Image: inner, prepared: make(map[profile.Addr]bool)}
		return m, err
	}
	const rounds = 3 * maxRefresh / (10 * time.Millisecond)
	pc := uint64(0)
	c := &fakeClock{run: func(_, _ time.Duration) {
		if pc++; pc%100 == 0 {
			w.miss = map[uint64]bool{0x1000 + pc: true}
		}
		w.threads[100].spin(0x1000 + pc)
	}}
	s := New([]*source.Process{src}, &Options{
		Period: 10 * time.Millisecond, For: 3 * maxRefresh, Clock: c,
		Progress: func(p *Progress) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.over = p.Rounds == int64(rounds)
		},
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if m.awaited > 0 || !m.over {
		t.Errorf("%d names were looked up by rounds; over: %v", m.awaited, m.over)
	}
}
