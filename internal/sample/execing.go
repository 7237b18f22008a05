package sample

import (
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/source"
)

// execve(2) replaces the memory of a process, reports the new name, maps the new program, and writes the arguments to the new stack
// (load_elf_binary). Until the end the thread has the registers with which the old program has called it. So a tick in the
// kernel after the record of the name has an address of the old program, and the mappings of the new one. It belongs to [exec].

//
// The image of a process is opened when the record is read, or later. The process may have executed still another program by then.
// The records of what was mapped show which ticks are of a program that is gone. They are [unknown].

// execing tells such ticks. Its zero value is that of a process that runs its program.
type execing struct {
	now    bool   // no tick has shown that the new program runs
	mapped bool   // the last of the new program's mappings was reported, that of the vDSO
	pc, sp uint64 // of ticks in execve(2); 0: there was none

	told   bool          // an exec was recorded, and its image not opened yet
	opens  time.Duration // since when the present image was being opened, by perfevent.Now; 0: there is none
	opened time.Duration // until when
	maps   []procfs.Map  // code that the program of the records has mapped until then
	waited time.Duration // since when the image is stale, and no record has said why; 0: it is not
}

// mostExecMaps bounds how many mappings of a program that may be gone are kept.
const mostExecMaps = 1 << 10

// note takes note of a record.
func (e *execing) note(r *perfevent.Record) {
	switch r.Kind {
	case perfevent.Exec:
		*e = execing{now: true, told: r.Time >= e.opens, opens: e.opens, opened: e.opened, maps: e.maps[:0]}
	case perfevent.Map:
		e.mapped = e.mapped || r.Mapped.Path == "[vdso]"
		if (e.told || r.Time < e.opened) && len(e.maps) < mostExecMaps {
			e.maps = append(e.maps, r.Mapped.Map())
		}
	}
}

// before reports whether a record is older than the image.
func (e *execing) before(r *perfevent.Record) bool { return r.Time < e.opens }

// gone reports whether a tick is of a program that is gone: its code is not in the image.
func (e *execing) gone(r *perfevent.Record, image source.Image) bool {
	if r.Time >= e.opened {
		return false
	}
	var regs ptrace.Regs
	regs.SetSampled(&r.Regs)
	for i := range e.maps {
		if m := &e.maps[i]; regs.PC() >= m.Start && regs.PC() < m.End {
			return !image.HasCode(m)
		}
	}
	return false
}

// open notes that an image is about to be opened.
func (e *execing) open() { e.opens, e.waited = perfevent.Now(), 0 }

// beginning is a source.Image that may be known to have no program yet.
type beginning interface{ Begun() bool }

// take takes over an image that was opened. The kernel gives back the old memory before it reports the exec, which takes as long as
// there is much of it. The new memory has no program then.
func (e *execing) take(image source.Image) {
	e.opened, e.told = perfevent.Now(), false
	if b, ok := image.(beginning); ok && !b.Begun() && !image.Stale() {
		e.now = true
	}
}

// longestUntold is how long an exec may go without its record. The thread may get no processor before it makes it. Then the record
// is lost.
const longestUntold = time.Second

// untold reports whether an image that is stale is to be kept: the ticks that were not read yet are of its program. The record
// of the exec comes behind them.
func (e *execing) untold() bool {
	now := perfevent.Now()
	if e.waited == 0 {
		e.waited = now
	}
	return now-e.waited < longestUntold
}

// has reports whether a tick is in execve(2). When everything is mapped, the old stack pointer shows it: the new stack
// is elsewhere, and nothing could be copied. Without randomized addresses that is known from an earlier tick only.
func (e *execing) has(r *perfevent.Record) bool {
	if !e.now {
		return false
	}
	var regs ptrace.Regs
	regs.SetSampled(&r.Regs)
	switch {
	case !r.InKernel:
		e.now = false
	case e.pc != 0:
		e.now = regs.PC() == e.pc && regs.SP() == e.sp
	default:
		e.now = !e.mapped || len(r.Stack) == 0 && !r.Is32Bit
	}
	e.pc, e.sp = regs.PC(), regs.SP()
	return e.now
}
