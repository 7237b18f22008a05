package source

import (
	"debug/elf"
	"strings"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/inner"
	"ptools/internal/mem"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/unwind"
	"ptools/pctl/control"
	"ptools/pctl/handle"
)

// Files caches the ELF files of all sources that share it.
type Files = elfsym.Cache

// keptFiles is how many files stay open.
const keptFiles = 256

// NewFiles returns a cache.
func NewFiles() *Files { return elfsym.NewCache(keptFiles) }

// New returns the process that c controls. If lines is true, addresses
// are resolved to source lines and inlined functions too.
func New(c *control.Controller, files *Files, lines bool) *Process {
	src := newSource(c.PID(), c, files, lines)
	src.Stacks = func() (Stacks, error) {
		m, err := mem.OpenPatient(src.PID)
		if err != nil {
			return nil, err
		}
		return newStacks(m, src.PID), nil
	}
	return src
}

// stacks implements Stacks.
type stacks struct {
	*mem.Patient
	quick *mem.PatientView
	maps  *procfs.Mappings // nil: they are not to be asked quickly
}

func newStacks(m *mem.Patient, pid int) *stacks {
	s := &stacks{m, m.QuickUser(), nil}
	maps, err := procfs.OpenMappings(pid)
	if err != nil {
		return s
	}
	if !maps.Quick() {
		maps.Close()
		return s
	}
	s.maps = maps
	return s
}

// CodeAt implements Stacks.
func (s *stacks) CodeAt(addr uint64) (m procfs.Map, ok bool) {
	if s.maps == nil {
		return m, false
	}
	m, ok, err := s.maps.At(addr)
	return m, ok && err == nil
}

// Close closes the memory and the map.
func (s *stacks) Close() error {
	if s.maps != nil {
		s.maps.Close()
	}
	return s.Patient.Close()
}

// ReadAt reads while a thread stands still.
func (s *stacks) ReadAt(p []byte, addr int64) (int, error) { return s.quick.ReadAt(p, addr) }

// Controlled is New for a *pctl.Process. It is an error if the process is not controlled.
func Controlled(process inner.Process, files *Files, lines bool) (*Process, error) {
	c, err := inner.Controller(process)
	if err != nil {
		return nil, err
	}
	return New(c, files, lines), nil
}

// Watch returns a process that nothing is attached to, for a sampler with Ticks. done is closed when
// the process has ended.
func Watch(pid int, done <-chan struct{}, files *Files, lines bool) *Process {
	return newSource(pid, watched{pid, done}, files, lines)
}

func newSource(pid int, c Control, files *Files, lines bool) *Process {
	return &Process{
		PID:        pid,
		Control:    c,
		Thread:     func(tid int) (TaskFiles, error) { return procfs.OpenTask(pid, tid) },
		File:       func(fd uint32) (string, error) { return procfs.OpenedFile(pid, fd) },
		NeverWaits: func(fd uint32) bool { return procfs.NeverWaits(pid, fd) },
		Image:      func() (Image, error) { return OpenImage(pid, files, lines) },
		CPU:        processorTimeOf(pid),
		Sum:        func() (Sum, error) { return procfs.OpenTaskStats(pid) },
		Tasks:      func() (Tasks, error) { return perfevent.OpenTasks(pid) },
		Unopened:   func(tid int) TaskFiles { return procfs.UnopenedTask(pid, tid) },
	}
}

// native is the address space of a real process.
type native struct {
	*handle.Space
	mem        *mem.Patient
	quick      *mem.PatientView // of mem
	unwinder   *unwind.Unwinder
	executable string
	class      elf.Class
	how        handle.How
	stacks     stackMap

	mu       sync.Mutex     // held by users of Resolve: the sampler, and readers of copies of its profile
	resolved []handle.Frame // scratch of Resolve

	frames []unwind.Frame // scratch of Unwind
}

func OpenImage(pid int, files *Files, lines bool) (Image, error) {
	m, space, err := openSpace(pid, files)
	if err != nil {
		return nil, err
	}
	n := &native{
		Space: space, mem: m, quick: m.Quick(), unwinder: unwind.New(space),
		stacks: stackMap{pid: pid}, class: procfs.ExeClass(pid),
	}
	if lines {
		n.how = handle.Lines
	}
	if exe, err := procfs.Exe(pid); err == nil {
		n.executable = strings.TrimSuffix(exe, " (deleted)")
	}
	return n, nil
}

// Begun reports whether a program is mapped.
func (n *native) Begun() bool { return len(n.Space.Mapped()) > 0 }

// mostOpens is how often an image is opened while the process executes one program after the other.
const mostOpens = 3

// openSpace opens the memory and reads the map. The memory is opened first. If an exec comes in between, it is that of the old
// program, and the map that of the new one. Then both are opened again. If that never succeeds, nothing of the map is known: the
// next round finds the image stale.
func openSpace(pid int, files *Files) (m *mem.Patient, space *handle.Space, err error) {
	for n := 1; ; n++ {
		if m, err = mem.OpenPatient(pid); err != nil {
			return nil, nil, err
		}
		if space, err = handle.NewSpace(pid, files); err != nil {
			m.Close()
			return nil, nil, err
		}
		switch {
		case !m.Stale() || len(space.Mapped()) == 0: // a process that has ended has no map
			return m, space, nil
		case n == mostOpens:
			space.Close()
			return m, handle.Unreadable(pid, files), nil
		}
		space.Close()
		m.Close()
	}
}

// Place returns the variable and the file that an address of data lies in.
func (n *native) Place(addr uint64) (symbol string, offset uint64, object string) {
	o, ok := n.Data(addr)
	if !ok {
		return "", 0, ""
	}
	if o.File != nil {
		if s, ok := o.File.Variable(addr - o.Bias); ok {
			return s.Name, addr - o.Bias - s.Addr, o.Path
		}
	}
	return "", addr - o.Bias, o.Path
}

func (n *native) Executable() string { return n.executable }
func (n *native) Is32Bit() bool      { return n.class == elf.ELFCLASS32 }
func (n *native) Stale() bool        { return n.mem.Stale() }

// Close closes the memory and the map of the process. Files that are open still resolve.
func (n *native) Close() error {
	n.Space.Close()
	return n.mem.Close()
}

// Refresh reads the maps. If it fails, the process has ended. The maps of another program are not taken: the next round finds the
// image stale.
func (n *native) Refresh() { handle.RefreshIf(n.Space, func() bool { return !n.mem.Stale() }) }

// Mapped implements Image.
func (n *native) Mapped(m *perfevent.Mapped) (news bool) { return n.Take(m.Map()) }

// HasCode implements Image.
func (n *native) HasCode(m *procfs.Map) bool { return n.Now().Has(m) }

// ReadStack is one read, which does not wait for pages that do not come. It runs on one goroutine at a time: that of
// the sampler, or the control goroutine while the sampler waits for its look.
func (n *native) ReadStack(p []byte, addr uint64) int {
	got, _ := n.quick.ReadAt(p, int64(addr)) // a short read is the end of the stack
	return got
}

// StackAt implements Image.
func (n *native) StackAt(sp uint64) (bottom, top uint64) { return n.stacks.find(sp) }

// Unwind reads outside the copied stack and pages from the present memory: code, the
// stacks of goroutines, alternate signal stacks. If the thread runs again,
// that may have changed: who calls Unwind then leaves out what is Beyond.
func (n *native) Unwind(s *Capture, dst []profile.Addr) ([]profile.Addr, unwind.End) {
	if s.Partial {
		s.Regs = ptrace.Regs{}
		s.Regs.SetPC(s.PC)
		s.Regs.SetSP(s.SP)
		s.Regs.SetSyscallArg(0, s.Argument)
	}
	strays := n.unwinder.Counts().Strays
	stack := unwind.Stack{Base: s.Base, Data: s.Stack, Mem: n.mem, Chain: s.Chain, Partial: s.Partial}
	if s.Pages != nil {
		stack.Pages = s.Pages
	}
	if s.Late {
		stack.Mem = nil
	}
	frames, end := n.unwinder.Unwind(&s.Regs, stack, n.frames[:0])
	n.frames = frames
	s.Strayed, s.Beyond = n.unwinder.Counts().Strays != strays, n.unwinder.Beyond()
	s.Needed = n.unwinder.Needed()
	now := n.Now()
	for _, f := range frames {
		a := profile.Addr{PC: f.PC, Kind: profile.KindOf(f.Return, f.Signal)}
		a.Era = uint32(now.EraOf(LookedUp(a)))
		dst = append(dst, a)
	}
	return dst, end
}

// HowOf says how a level is looked up.
func HowOf(a profile.Addr) handle.How {
	switch a.Kind {
	case profile.Return:
		return handle.Return
	case profile.Trampoline:
		return handle.Trampoline
	}
	return 0
}

// Prepare looks up the names of a; the Space remembers them.
func (n *native) Prepare(a profile.Addr) {
	var buf [8]handle.Frame
	n.then(a).Symbolize(a.PC, n.how|HowOf(a), buf[:0])
}

// then returns what is known of the code of a level.
func (n *native) then(a profile.Addr) handle.Then { return n.Then(LookedUp(a), handle.Era(a.Era)) }

// Resolve implements profile.Resolver. It may be called from any goroutine.
func (n *native) Resolve(a profile.Addr, dst []profile.Frame) ([]profile.Frame, profile.Mapping) {
	n.mu.Lock()
	defer n.mu.Unlock()
	pc, then := LookedUp(a), n.then(a)
	if !then.Knows(pc) {
		return dst, profile.Mapping{}
	}
	n.resolved = then.Symbolize(a.PC, n.how|HowOf(a), n.resolved[:0])
	for _, f := range n.resolved {
		g := FrameOf(&f)
		if f.Func == "" && f.Object != "" {
			g.Place = then.PlaceOf(pc, &f)
		}
		dst = append(dst, g)
	}
	return dst, mapping(then, pc)
}

// FrameOf returns a frame as profiles have it. It has no Place.
func FrameOf(f *handle.Frame) profile.Frame {
	return profile.Frame{Func: f.Func, Raw: f.Raw, File: f.File, Line: f.Line, Object: f.Object, Inlined: f.Inlined}
}

// mapping returns the mapping of the object at an address. It is the object's segment, because readers of profiles look
// for a segment with that offset in the file.
func mapping(then handle.Then, addr uint64) profile.Mapping {
	o, isObject := then.Object(addr)
	seg, ok := then.Segment(addr)
	if !isObject || !ok {
		return profile.Mapping{}
	}
	return profile.Mapping{Start: seg.Start, Limit: seg.End, Offset: seg.Off, Path: o.Path, BuildID: o.BuildID}
}
