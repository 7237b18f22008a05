package profile

import (
	"fmt"
	"path"
	"strconv"
	"time"
)

// label is what one level of a stack is counted under in the outputs that
// know only names.
type label struct {
	name   string
	object string // tells functions of one name apart
	call   string // the system call that the function makes, if that says more
}

const unknown = "[unknown]"

// String is the name, with the object where the name alone says nothing.
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

// calling adds the system call.
func (l label) calling(name string) string {
	if l.call == "" {
		return name
	}
	return name + " " + l.call
}

// Options say how names and counts are shown. The zero value counts samples
// by function over all threads.
type Options struct {
	Value   Value // what text, folded and speedscope count
	OnStack bool  // text: the second column, functions that are not leaves too
	Lines   bool  // file:line instead of functions
	Threads bool  // text, folded: keep threads apart
	By      By    // folded, speedscope: how processes of a tree are told apart
	// Live is after what time a page asks its server for a later state (WritePageData); 0: it shows the last.
	Live time.Duration
}

// labels appends the labels of a stack to dst, innermost first.
func (s *Space) labels(stack StackID, o *Options, dst []label) []label {
	for stack = s.counted(stack, o); stack != 0; stack = s.nodes[stack].caller {
		dst = s.locationLabels(&s.locs[s.nodes[stack].loc], o, dst)
	}
	return dst
}

// counted returns the part of a stack that a value counts on. Waiting costs no
// processor time: what a thread used before it waited belongs to the function
// that called the kernel.
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

// Names appends what the text output would call the levels of a stack,
// innermost first. It resolves what it needs.
func (s *Space) Names(stack StackID, o *Options, dst []string) []string {
	s.ResolveAll()
	for _, l := range s.labels(stack, o, nil) {
		dst = append(dst, l.String())
	}
	return dst
}
