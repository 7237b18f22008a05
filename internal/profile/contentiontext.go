package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A profile of waiting as text for users: a line for each function and lock, where the function held the lock
// while others waited.

// holderKey is a line of the table.
type holderKey struct {
	label  label
	stack  string // its callers, if they are shown
	lock   string
	thread string // the thread that held it, if threads are kept apart
}

// holderRow is the waiting for one function.
type holderRow struct {
	holderKey
	waits, ns int64
	waiters   map[ThreadID]bool
	locks     map[LockID]bool
}

// writeWaitHead says in some lines what was sampled.
func writeWaitHead(p *Profile, b io.Writer) {
	var blamed, changed int64
	waiters := make(map[ThreadID]bool)
	for _, s := range p.spaces {
		for i := range s.cells {
			c := &s.cells[i]
			waiters[c.thread] = true
			switch w, _, _ := p.wait(c.wait); w.Why {
			case "":
				blamed += c.Wall
			case ChangedHands:
				changed += c.Wall
			}
		}
	}
	owned, other := p.Total().Wall, p.unowned.Total().Wall
	fmt.Fprintf(b, "%s: %.1f s, %d samples at %s Hz\n", subjectsOf(p), p.Duration.Seconds(), p.Rounds, Hertz(p.Period))
	fmt.Fprintf(b, "waiting for locks: %.2f s by %s; of %.1f %% the holder is known, %.1f %% changed hands while it was looked for\n",
		float64(owned)/1e9, count(len(waiters), "thread"), percent(blamed, owned), percent(changed, owned))
	fmt.Fprintf(b, "waiting for what nobody holds: %.2f s\n", float64(other)/1e9)
}

// ChangedHands is why no thread is blamed for a lock that had another owner at the second reading.
const ChangedHands = "changed hands"

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// writeHolders writes the table of the functions that held locks, and one of other waits.
func writeHolders(p *Profile, b *bufio.Writer, o *Options) {
	held, rest := make(map[holderKey]*holderRow), make(map[holderKey]*holderRow)
	whole := p.Total().Wall
	for _, s := range p.finish() {
		for _, c := range s.ordered() {
			p.addRow(held, p.holderKey(s, c, o), c)
		}
	}
	for _, s := range p.unowned.finish() {
		for _, c := range s.ordered() {
			w, lock, _ := p.wait(c.wait)
			p.addRow(rest, holderKey{label: label{name: cmp.Or(w.Function, unknown)}, lock: lock.Kind}, c)
		}
	}
	if len(held) > 0 {
		fmt.Fprintf(b, "\n%10s  %7s  %8s  %7s  %-30s  %s\n", "waited s", "share", "waits", "threads", "holder", "lock")
		for _, r := range sortedRows(held) {
			fmt.Fprintf(b, "%10.3f  %6.2f%%  %8d  %7d  %-30s  %s\n", float64(r.ns)/1e9, percent(r.ns, whole), r.waits, len(r.waiters), r.holder(), r.lockName())
			if r.stack != "" {
				fmt.Fprintf(b, "%s\n", r.stack)
			}
		}
	}
	if len(rest) > 0 {
		fmt.Fprintf(b, "\n%10s  %17s  %7s  %-30s  %s\n", "waited s", "waits", "threads", "waiting function", "for what nobody holds")
		for _, r := range sortedRows(rest) {
			fmt.Fprintf(b, "%10.3f  %17d  %7d  %-30s  %s\n", float64(r.ns)/1e9, r.waits, len(r.waiters), r.label, r.lock)
		}
	}
}

// addRow counts a cell in its row.
func (p *Profile) addRow(rows map[holderKey]*holderRow, k holderKey, c *cell) {
	r := rows[k]
	if r == nil {
		r = &holderRow{holderKey: k, waiters: make(map[ThreadID]bool), locks: make(map[LockID]bool)}
		rows[k] = r
	}
	w, _, _ := p.wait(c.wait)
	r.waits += c.Samples
	r.ns += c.Wall
	r.waiters[c.thread] = true
	r.locks[cmp.Or(w.Holds, w.Lock)] = true
}

// holderKey returns the line that a wait for a lock counts in.
func (p *Profile) holderKey(s *Space, c *cell, o *Options) holderKey {
	w, lock, holds := p.wait(c.wait)
	var k holderKey
	if w.Why != "" {
		k.label = label{name: p.unblamed(s, c.stack)}
	} else {
		k.label = s.holderLabel(c.stack, o)
	}
	if o.Threads && w.TID != 0 {
		k.thread = fmt.Sprintf("%s (tid %d)", w.Holder, w.TID)
	}
	if o.OnStack {
		var lines []string
		for _, l := range s.merged(c.stack, o, nil) {
			lines = append(lines, fmt.Sprintf("%41s%s", "", l))
		}
		k.stack = strings.Join(lines, "\n")
	}
	if holds.Kind == "" {
		holds = lock
	}
	k.lock = holds.table()
	if otherLock(&holds, &lock) != "" {
		k.lock += ", by way of " + lock.table()
	}
	return k
}

// table returns the name of a lock in the table. Locks that are in no variable are not distinguished.
func (l *Lock) table() string {
	if l.Symbol == "" && l.Object == "" {
		return l.Kind
	}
	return l.String()
}

// lockName returns table's name for one or several locks.
func (r *holderRow) lockName() string {
	if len(r.locks) > 1 && !strings.Contains(r.lock, " in ") {
		return fmt.Sprintf("%s (%d of them)", r.lock, len(r.locks))
	}
	return r.lock
}

func (r *holderRow) holder() string {
	if r.thread == "" {
		return r.label.String()
	}
	return r.label.String() + " in " + r.thread
}

// unblamed returns the outermost level of a stack, which says why no thread is blamed.
func (p *Profile) unblamed(s *Space, stack StackID) string {
	for s.nodes[stack].caller != 0 {
		stack = s.nodes[stack].caller
	}
	return s.locationLabels(&s.locs[s.nodes[stack].loc], &Options{}, nil)[0].name
}

// holderLabel returns the innermost function of a stack outside of the C library, with the system call that is
// made below it.
func (s *Space) holderLabel(stack StackID, o *Options) label {
	call := ""
	for at := stack; at != 0; at = s.nodes[at].caller {
		l := &s.locs[s.nodes[at].loc]
		if name := s.callNote(l); name != "" {
			call = name
			continue
		}
		if s.starts(l) {
			continue
		}
		inner := s.locationLabels(l, o, nil)[0]
		if call != "" && !sameCall(inner.name, call) {
			inner.call = call
		}
		return inner
	}
	if all := s.merged(stack, o, nil); len(all) > 0 {
		return all[0]
	}
	return label{name: unknown}
}

func sortedRows(rows map[holderKey]*holderRow) []*holderRow {
	list := make([]*holderRow, 0, len(rows))
	for _, r := range rows {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *holderRow) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(b.waits, a.waits), cmp.Compare(a.label.name, b.label.name), cmp.Compare(a.label.object, b.label.object),
			cmp.Compare(a.label.call, b.label.call), cmp.Compare(a.lock, b.lock), cmp.Compare(a.thread, b.thread), cmp.Compare(a.stack, b.stack))
	})
	return list
}
