package calls

import (
	"encoding/binary"
	"fmt"
	"path"
	"strconv"
	"strings"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// A Group is the calls of a function that have the same key.
type Group struct {
	*Target
	Key string // its text; empty for a Rest
	Rest
	Stats
	Stack []StackPC // with a key that is a stack; the innermost first
	Cut   string    // why it is not whole
}

// A Rest says what calls a group has that have no key.
type Rest string

const (
	None     Rest = ""
	Others   Rest = "other"        // there are more keys than the kernel's table has room for
	Open     Rest = "not returned" // the key is the result, and they have not ended
	NoResult Rest = "no result"    // the same, and their ends cannot be seen
	NoStack  Rest = "no stack"     // the copy of the stack found no room, or they have not ended
	CutStack Rest = "stack cut"    // of a tree: the outer part of the stack is not known
)

// A StackPC is a program counter of a stack.
type StackPC = unwind.Frame

// groups are the keys that user space finds.
type groups struct {
	stacks map[string]*Group
	whole  map[int]*Stats // of all stacks of a function, by its number
	names  map[uint64]string
}

// add adds a call to those of its stack.
func (g *groups) add(w *Watch, c *Call, r *perfevent.CallReport) {
	if g.stacks == nil {
		g.stacks, g.whole = map[string]*Group{}, map[int]*Stats{}
	}
	pcs, end := w.unwind(r)
	if len(pcs) > 0 {
		pcs[0] = StackPC{PC: c.entry} // else each return instruction has stacks of its own
	}
	key := binary.LittleEndian.AppendUint64(nil, uint64(c.number)<<8|uint64(end))
	for i := range pcs {
		key = binary.LittleEndian.AppendUint64(key, pcs[i].PC)
	}
	group := g.stacks[string(key)]
	if group == nil {
		if len(g.stacks) == perfevent.MostGroups {
			return
		}
		group = &Group{Target: c.Target, Stack: append([]StackPC(nil), pcs...)}
		if end != unwind.Whole {
			group.Cut = end.String()
		}
		g.stacks[string(key)] = group
	}
	if g.whole[c.number] == nil {
		g.whole[c.number] = &Stats{}
	}
	addCall(&group.Stats, r)
	addCall(g.whole[c.number], r)
}

// addCall adds a call to statistics.
func addCall(s *Stats, r *perfevent.CallReport) {
	s.Calls++
	if n, ok := r.Values.Amount(); ok {
		s.Amount.AddNumber(n)
	}
	if r.Values.Begun() {
		return
	}
	if r.Values.Tail() {
		s.Tails++
	}
	s.Returned++
	s.Sum += r.Length
	s.Max = max(s.Max, r.Length)
	s.Buckets[perfevent.BucketOf(r.Length)]++
}

// Groups returns the calls of all functions by their keys, so far.
func (w *Watch) Groups() []Group {
	if w.spec.By.Stack() {
		return w.byStack()
	}
	var all []Group
	seen := map[string]int{}
	inGroups := make([]uint64, len(w.numbered))
	for i := range w.kernel.Groups() {
		var met perfevent.CallGroup
		var s Stats
		if !w.kernel.Group(i, &met, &s) || met.Function >= len(w.numbered) {
			continue
		}
		t := w.numbered[met.Function]
		if t.by.kernel.AtReturn {
			s.Calls = s.Returned
			inGroups[met.Function] += s.Returned
		}
		text := w.keyText(t, &met)
		id := strconv.Itoa(t.number) + " " + text
		if n, ok := seen[id]; ok { // another place of the same caller
			Merge(&all[n].Stats, &s)
			continue
		}
		seen[id] = len(all)
		all = append(all, Group{Target: t, Key: text, Stats: s})
	}
	for i, t := range w.numbered {
		var s Stats
		if t.Err != nil {
			continue
		}
		w.kernel.Read(i, &s)
		if !t.by.kernel.AtReturn {
			all = append(all, Group{Target: t, Rest: Others, Stats: s})
			continue
		}
		open := Stats{Calls: s.Calls - min(s.Calls, s.Returned+inGroups[i]), Left: s.Left, Untimed: s.Untimed}
		why := Open
		if t.Plan.Whole != nil || w.Coverage(t).Level != Timed {
			why = NoResult
		}
		s.Calls, s.Left, s.Untimed = s.Returned, 0, 0
		all = append(all, Group{Target: t, Rest: Others, Stats: s}, Group{Target: t, Rest: why, Stats: open})
	}
	return all
}

// Whole returns the calls of each function, with all its keys, of groups.
func Whole(groups []Group) map[*Target]*Stats {
	all := map[*Target]*Stats{}
	for i := range groups {
		s := all[groups[i].Target]
		if s == nil {
			s = &Stats{}
			all[groups[i].Target] = s
		}
		Merge(s, &groups[i].Stats)
	}
	return all
}

// byStack is Groups where the keys are stacks.
func (w *Watch) byStack() []Group {
	whole := make([]Stats, len(w.numbered))
	w.Reports(nil)
	for i, t := range w.numbered {
		if t.Err == nil {
			w.kernel.Read(i, &whole[i])
		}
	}
	w.Reports(nil) // of those that ended meanwhile
	var all []Group
	for _, g := range w.groups.stacks {
		all = append(all, *g)
	}
	for i, t := range w.numbered {
		s := whole[i]
		if stacks := w.groups.whole[i]; stacks != nil {
			s = rest(&whole[i], stacks)
		}
		all = append(all, Group{Target: t, Rest: NoStack, Stats: s})
	}
	return all
}

// keyText returns the text of a key.
func (w *Watch) keyText(t *Target, g *perfevent.CallGroup) string {
	switch kind := t.by.kernel.Kind; {
	case g.Unknown:
		return unknown
	case kind == perfevent.KeyThread || kind == perfevent.KeyProcess:
		return w.named(g.Number, func(n uint64) string { return w.idName(n, g.Comm()) })
	case kind == perfevent.KeyCaller:
		return w.named(g.Number, w.callerName)
	}
	return t.keyText(g)
}

// named returns a name that is looked up once.
func (w *Watch) named(n uint64, look func(uint64) string) string {
	if w.groups.names == nil {
		w.groups.names = map[uint64]string{}
	}
	name, ok := w.groups.names[n]
	if !ok {
		name = look(n)
		w.groups.names[n] = name
	}
	return name
}

// idName is the number and the name of a thread, or of a process. One that has ended has the name from its first call that is counted, or none if that
// is a process whose first thread has not made it. If calls of the process that has the number now are not counted, it was another one's.
func (w *Watch) idName(n uint64, first string) string {
	name := first
	if st, err := procfs.ReadStatus(int(n)); err == nil && (w.spec.Follow && w.kernel.Kin(st.Tgid) || !w.spec.Follow && st.Tgid == w.PID) { // of a thread, too
		if now, err := procfs.ReadComm(st.Tgid, int(n)); err == nil {
			name = now
		}
	}
	return strings.TrimSuffix(strconv.FormatUint(n, 10)+" "+name, " ")
}

// callerName is the function that a return address is in, or the place in its file.
func (w *Watch) callerName(pc uint64) string {
	f := w.symbolize(&unwind.Frame{PC: pc, Return: true}, nil)[0]
	switch {
	case f.Func != "":
		return f.Func
	case f.Object != "":
		return fmt.Sprintf("%s+%#x", path.Base(f.Object), f.Offset)
	}
	return hexWord(pc)
}

// Frames returns the functions of a stack. The first one is that which was called, without what was inlined at its beginning.
func (w *Watch) Frames(stack []StackPC) (frames []Frame) {
	for i := range stack {
		frames = w.symbolize(&stack[i], frames)
		if i == 0 {
			frames = frames[len(frames)-1:]
		}
	}
	return frames
}
