package gotime

import (
	"context"
	"strings"
	"time"

	"ptools/internal/goroutines"
	"ptools/internal/unwind"
)

// A Round is what one reading has met.
type Round struct {
	Length     time.Duration // for which it stands
	Took       time.Duration
	Goroutines int // other than those of Go's runtime
	Unread     int // that could not be read; they are no Goroutines
	Unsettled  int // Goroutines that changed whenever they were read
	Sights     []*Sight
}

// A Sight is a number of goroutines that do the same.
type Sight struct {
	Count  int
	ID     uint64 // its number, if each goroutine is a Sight; else 0
	State  string // in the words of Go's traces
	Labels []goroutines.Label
	// Frames is the stack, innermost first, without the functions of Go's runtime by which the goroutine waits. Of one that runs it is
	// its first function.
	Frames []unwind.Frame
	End    unwind.End
}

// taker takes rounds.
type taker struct {
	program Program
	each    bool
	names   map[uint64]string
}

// same is what goroutines of one Sight have in common.
type same struct {
	stack  *goroutines.Stack
	start  uint64 // of one without a stack
	state  string
	labels string
	id     uint64 // if each is to be told from the others
}

// round takes a round that stands for some time. It is nil if nothing was found to be read. What it took is without the finding, which takes longer when
// it is done first.
func (t *taker) round(ctx context.Context, length time.Duration) (*Round, error) {
	if err := t.program.Find(); err != nil {
		return nil, err
	}
	r := &Round{Length: length}
	began := time.Now()
	sights := make(map[same]*Sight)
	unread, err := t.program.Read(ctx, func(g *goroutines.G) {
		if g.Start != 0 && g.System(t.name) {
			return
		}
		r.Goroutines++
		if g.Status == goroutines.Changing {
			r.Unsettled++
		}
		k := same{stack: g.Stack, state: g.State(), labels: labelsOf(g)}
		if g.Stack == nil {
			k.start = g.Start
		}
		if t.each {
			k.id = g.ID
		}
		s := sights[k]
		if s == nil {
			s = t.sight(g)
			s.ID = k.id
			sights[k] = s
			r.Sights = append(r.Sights, s)
		}
		s.Count++
	})
	r.Unread, r.Took = unread, time.Since(began)
	return r, err
}

// labelsOf returns the labels of a goroutine as a key.
func labelsOf(g *goroutines.G) string {
	if len(g.Labels) == 0 {
		return ""
	}
	var b strings.Builder
	for _, l := range g.Labels {
		b.WriteString(l.Key + "\x00" + l.Value + "\x00")
	}
	return b.String()
}

func (t *taker) sight(g *goroutines.G) *Sight {
	s := &Sight{State: g.State(), Labels: g.Labels}
	switch {
	case g.Stack != nil:
		s.End = g.Stack.End
		s.Frames = g.Stack.Frames
		for len(s.Frames) > 1 && inner(t.nameOf(s.Frames[0])) {
			s.Frames = s.Frames[1:]
		}
	case g.Start != 0:
		s.Frames, s.End = []unwind.Frame{{PC: g.Start}}, unwind.TooDeep
	}
	return s
}

// inner reports whether a function is one by which goroutines wait: all of them have it.
func inner(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") || strings.Contains(name, ".runtime_")
}

// mostNames bounds the names that are remembered.
const mostNames = 1 << 16

func (t *taker) nameOf(f unwind.Frame) string {
	if f.Return {
		return t.name(f.PC - 1)
	}
	return t.name(f.PC)
}

func (t *taker) name(pc uint64) string {
	name, ok := t.names[pc]
	if !ok {
		if len(t.names) >= mostNames {
			clear(t.names)
		}
		name = t.program.Name(pc)
		t.names[pc] = name
	}
	return name
}
