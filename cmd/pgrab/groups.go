package main

import (
	"fmt"
	"slices"
	"strconv"

	"ptools/internal/clean"
	"ptools/pctl"
)

// group is threads with the same stack.
type group []*pctl.Thread

// mostListed is how many entries a line has, or lines a group has, for threads that differ. --each and --json have all.
const mostListed = 16

// threads prints the threads at a rendezvous: those with the same stack together, the largest group first.
func (f text) threads(b []byte, r *record) []byte {
	for _, g := range f.groups(r.threads) {
		b = fmt.Appendf(b, "pid %d: ", r.PID)
		if len(g) == 1 {
			b = fmt.Appendf(b, "tid %s %s\n", named(g[0]), doing(g[0]))
		} else {
			b = fmt.Appendf(b, "%d threads %s: tid %s\n", len(g), doing(g[0]), g.list())
		}
		b = appendWaits(b, r, g)
		b = f.appendStack(b, g[0])
	}
	return b
}

// groups sorts threads, which are in the order of their numbers.
func (f text) groups(threads []*pctl.Thread) []group {
	var groups []group
	known := make(map[string]int)
	var key []byte
	for _, t := range threads {
		key = append(append(key[:0], doing(t)...), ' ')
		frames, err := f.frames(t)
		for _, frame := range frames {
			key = strconv.AppendUint(append(key, ' '), frame.PC, 16)
		}
		if err != nil && t.State != pctl.Unstoppable { // which has no stack, and an error that names the thread
			key = append(key, err.Error()...)
		}
		i, ok := known[string(key)]
		if !ok || f.each {
			i = len(groups)
			known[string(key)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	slices.SortStableFunc(groups, func(g, h group) int { return len(h) - len(g) })
	return groups
}

// list returns the numbers and names of threads: "101-108 (worker), 110 (main)".
func (g group) list() string {
	text, entries := "", 0
	for i := 0; i < len(g); entries++ {
		n := i + 1
		for n < len(g) && g[n].TID == g[n-1].TID+1 && g[n].Name() == g[i].Name() {
			n++
		}
		if entries == mostListed {
			return text + fmt.Sprintf(" and %d more", len(g)-i)
		}
		if i > 0 {
			text += ", "
		}
		if n > i+1 {
			text += fmt.Sprintf("%d-", g[i].TID)
		}
		text += named(g[n-1])
		i = n
	}
	return text
}

// named returns a thread's number and name.
func named(t *pctl.Thread) string { return fmt.Sprintf("%d (%s)", t.TID, clean.Text(t.Name())) }

// doing returns a thread's state: "running", "in futex", "uninterruptible".
func doing(t *pctl.Thread) string {
	if call, ok := t.Syscall(); ok {
		return "in " + call
	}
	return t.State.String()
}

// appendWaits prints what the threads of a group wait for, those that wait for the same together.
func appendWaits(b []byte, r *record, g group) []byte {
	var texts []string
	by := make(map[string]group)
	for _, t := range g {
		text := waiting(r.waits[t.TID])
		if by[text] == nil {
			texts = append(texts, text)
		}
		by[text] = append(by[text], t)
	}
	slices.SortStableFunc(texts, func(s, t string) int { return len(by[t]) - len(by[s]) })
	for i, text := range texts {
		switch {
		case text == "":
			continue
		case i == mostListed:
			return fmt.Appendf(b, "    and %s that wait for other things\n", plural(waitingThreads(texts[i:], by), "thread"))
		case len(texts) > 1:
			text = "tid " + by[text].list() + " " + text
		}
		b = append(append(append(b, "    "...), text...), '\n')
	}
	return b
}

func waitingThreads(texts []string, by map[string]group) (n int) {
	for _, text := range texts {
		n += len(by[text])
	}
	return n
}

// waiting returns what a thread waits for, if that says more than the name of its call: "waits for mutex
// …". The descriptors of a poll have lines of their own.
func waiting(w pctl.Wait) string {
	text := "waits for " + w.String()
	switch w.Kind {
	case pctl.WaitNothing:
		return ""
	case pctl.WaitFile:
		text = "waits to read from " + w.String()
		if w.File.Write {
			text = "waits to write to " + w.String()
		}
	}
	for i, f := range w.Polled.Files {
		if i == 0 {
			text += ":"
		}
		text += "\n        " + f.String()
	}
	if more := w.Polled.Total - len(w.Polled.Files); more > 0 && len(w.Polled.Files) > 0 {
		text += fmt.Sprintf("\n        … %d more", more)
	}
	return text
}
