package sample

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"ptools/internal/profile"
	"ptools/pctl"
)

// Stacks has the stack of every thread of a process at one moment.
type Stacks struct {
	pid     int
	at      time.Time
	took    time.Duration
	threads []threadStack
	maps    []pctl.Map // executable
}

// threadStack is one thread.
type threadStack struct {
	tid         int
	name, state string
	frames      []pctl.Frame
}

// stops is the last stop of a process for its stacks, and the last reading of its goroutines.
type stops struct {
	mu         sync.Mutex // held while the process is stopped, or read
	stacks     *Stacks
	goroutines *Goroutines
	took       time.Duration // from the grab until the release
}

// A process is stopped for its stacks for a twentieth of the time at most, however many clients ask. A client
// that asks too early gets the stacks of the last stop, which say when it was.
const (
	stopsApart = 20 // times as long as a stop takes
	leastApart = 100 * time.Millisecond
	keptStops  = time.Minute
)

// Stacks stops all threads of a process for as long as it takes to copy their registers and stacks, some microseconds a
// thread. It names their functions when they run again. The process must have no other tracer. A process that was stopped
// for this just before is not stopped again: Stacks returns the stacks of that stop.
func (s *Sampler) Stacks(ctx context.Context, pid int) (*Stacks, error) {
	last := s.lastStop(pid)
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.stacks != nil && time.Since(last.stacks.at) < max(stopsApart*last.took, leastApart) {
		return last.stacks, nil
	}
	begun := time.Now()
	stacks, err := s.takeStacks(ctx, pid)
	if err != nil {
		return nil, err
	}
	last.stacks, last.took = stacks, time.Since(begun)
	return stacks, nil
}

// lastStop returns what is known of the last stop of a process, and forgets old stops.
func (s *Sampler) lastStop(pid int) *stops {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = make(map[int]*stops)
	}
	for other, last := range s.stopped {
		if last.mu.TryLock() {
			if last.old() {
				delete(s.stopped, other)
			}
			last.mu.Unlock()
		}
	}
	if s.stopped[pid] == nil {
		s.stopped[pid] = new(stops)
	}
	return s.stopped[pid]
}

// old reports whether nobody has asked for a while.
func (s *stops) old() bool {
	return (s.stacks != nil || s.goroutines != nil) && (s.stacks == nil || time.Since(s.stacks.at) > keptStops) && (s.goroutines == nil || time.Since(s.goroutines.at) > keptStops)
}

func (s *Sampler) takeStacks(ctx context.Context, pid int) (_ *Stacks, err error) {
	if err := s.working(); err != nil {
		return nil, err
	}
	defer s.ending.Done()
	p, err := s.session.Grab(ctx, pid, nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	st := &Stacks{pid: pid, at: time.Now()}
	var threads []*pctl.Thread
	err = p.Pause(ctx, func(shot *pctl.Snapshot) error {
		shot.CopyStacks()
		threads = slices.Clone(shot.Threads())
		return nil
	})
	st.took = time.Since(st.at)
	if err != nil {
		return nil, err
	}
	if maps, err := p.Maps(); err == nil { // a process that has ended meanwhile has no maps
		st.maps = slices.DeleteFunc(maps, func(m pctl.Map) bool { return m.Perm&pctl.PermExec == 0 })
	}
	for _, t := range threads {
		frames, err := t.Stack() // what could be unwound counts
		state := t.State.String()
		if call, ok := t.Syscall(); ok {
			state = call
		}
		if err != nil && len(frames) == 0 {
			state += ", " + err.Error()
		}
		st.threads = append(st.threads, threadStack{t.TID, profile.Clean(t.Name()), profile.Clean(state), frames})
	}
	slices.SortFunc(st.threads, func(a, b threadStack) int { return cmp.Compare(a.tid, b.tid) })
	s.paused(st.took)
	return st, nil
}

// Len is how many threads there are.
func (s *Stacks) Len() int { return len(s.threads) }

// WriteText writes each thread and its stack in the form in which a Go program writes its goroutines. The number of the
// thread stands for that of the goroutine, and its system call or state for the goroutine's state.
func (s *Stacks) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i, t := range s.threads {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "goroutine %d [%s, %q]:\n", t.tid, t.state, t.name)
		for _, f := range t.frames {
			file, line := profile.Clean(f.File), f.Line
			if file == "" {
				file = profile.Clean(cmp.Or(f.Object, "?"))
			}
			fmt.Fprintf(b, "%s(...)\n\t%s:%d +%#x\n", functionOf(&f), file, line, f.Offset)
		}
	}
	return b.Flush()
}

// WriteCounts writes a line for each distinct stack, with the number of threads that have it and its addresses.
// Comments with the names follow, as a Go program writes its goroutines.
func (s *Stacks) WriteCounts(w io.Writer) error {
	groups := make(map[string][]threadStack)
	for _, t := range s.threads {
		var key strings.Builder
		for _, f := range t.frames {
			if !f.Inlined {
				fmt.Fprintf(&key, " %#x", f.PC)
			}
		}
		groups[key.String()] = append(groups[key.String()], t)
	}
	keys := make([]string, 0, len(groups))
	for key := range groups {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(a, b))
	})
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goroutine profile: total %d\n", len(s.threads))
	for _, key := range keys {
		fmt.Fprintf(b, "%d @%s\n", len(groups[key]), key)
		for _, f := range groups[key][0].frames {
			fmt.Fprintf(b, "#\t%#x\t%s+%#x\t%s:%d\n", f.PC, functionOf(&f), f.Offset, profile.Clean(cmp.Or(f.File, f.Object)), f.Line)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// functionOf names a function fit for a line of text.
func functionOf(f *pctl.Frame) string { return profile.Clean(cmp.Or(f.Func, "[unknown]")) }
