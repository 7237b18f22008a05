package profile

import (
	"fmt"
	"path"
	"strconv"
	"time"
)

// label is what a level of a stack counts as, in outputs that have only
// names.
type label struct {
	name   string
	object string // distinguishes functions with the same name
	call   string // the system call that the function makes, if that says more
}

const unknown = "[unknown]"

// String returns the name, with the object if the function has no name.
func (l label) String() string {
	if l.name == unknown {
		return l.qualified()
	}
	return l.calling(l.name)
}

func (l label) qualified() string {
	if l.object == "" {
		return l.calling(l.name)
	}
	return l.calling(fmt.Sprintf("%s (%s)", l.name, path.Base(l.object)))
}

// calling returns a name with the system call added.
func (l label) calling(name string) string {
	if l.call == "" {
		return name
	}
	return name + " " + l.call
}

// Options say how names and counts are shown. The zero value counts samples
// by function over all threads.
type Options struct {
	Value   Value  // the value that text, folded and speedscope count
	OnStack bool   // text: the second column, functions that are not leaves too
	Lines   bool   // file:line instead of functions
	Threads bool   // text, folded: keep threads apart
	Screen  Screen // text: what there is room for
	By      By     // folded, speedscope: how processes of a tree are distinguished
	// Live is the time after which a page asks its server for a later state (WritePageData); 0: the page
	// shows the last state.
	Live time.Duration
}

// labels appends the labels of a stack to dst, innermost first.
func (s *Space) labels(stack StackID, o *Options, dst []label) []label {
	for stack = s.counted(stack, o); stack != 0; stack = s.nodes[stack].caller {
		dst = s.locationLabels(&s.locs[s.nodes[stack].loc], o, dst)
	}
	return dst
}

// counted returns the part of a stack in which a value counts. Waiting costs
// no processor time: the time that a thread used before it waited belongs to
// the function that called the kernel.
func (s *Space) counted(stack StackID, o *Options) StackID {
	n := s.nodes[stack]
	if o.Value == CPU && n.caller != 0 && s.callNote(&s.locs[n.loc]) != "" {
		return n.caller
	}
	return stack
}

func (s *Space) locationLabels(l *location, o *Options, dst []label) []label {
	if len(l.lines) == 0 {
		if l.mapping < 0 {
			return append(dst, label{name: unknown})
		}
		return append(dst, label{name: unknown, object: s.mappings[l.mapping].Path})
	}
	for _, n := range l.lines {
		f := s.profile.functions[n.fn]
		if o.Lines && f.file != "" && n.line > 0 {
			dst = append(dst, label{name: f.file + ":" + strconv.Itoa(int(n.line))})
			continue
		}
		if f.name == "" {
			f.name = unknown
		}
		dst = append(dst, label{name: f.name, object: f.object})
	}
	return dst
}

// Names appends the names of the levels of a stack, innermost first, as in
// the text output. It resolves what it needs.
func (s *Space) Names(stack StackID, o *Options, dst []string) []string {
	s.ResolveAll()
	for _, l := range s.labels(stack, o, nil) {
		dst = append(dst, l.String())
	}
	return dst
}
