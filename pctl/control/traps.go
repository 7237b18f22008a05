package control

import (
	"maps"
	"slices"
	"syscall"

	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// traps are the breakpoints of the target's present program, of either kind, and what is done
// with threads at them.
type traps struct {
	c        *Controller
	g        *tracee.Group
	table    *bkpt.Table
	breaks   map[uint64][]*Break
	stepper  stepper
	probes   probes
	mappings mappings
	killRisk killRisk
	ground   ground
	handling int // calls of handlers that have not returned
	former   []former
}

// former are the breakpoints of a program before an exec.
type former struct {
	auxv  procfs.Auxv
	table *bkpt.Table
}

// keptFormer bounds them: a process that was forked before an exec stops moments later.
const keptFormer = 4

func (x *traps) init(c *Controller) {
	x.c, x.g, x.breaks = c, &c.tracees, map[uint64][]*Break{}
	x.table = bkpt.NewTable(x.g.Memory.Bound)
	x.stepper.c, x.stepper.g = c, x.g
	x.probes.init(c)
	c.tracees.Text = x.table
}

// signalDue reports whether the signal of a trap of ours may be pending for a thread.
func (x *traps) signalDue(t *tracee.Thread) bool {
	ours := uint64(1) << (syscall.SIGTRAP - 1)
	if x.probes.signals != nil {
		ours |= 1 << (x.probes.signal - 1)
	}
	st, err := procfs.ReadTaskStatus(x.g.PIDOf(t), t.TID)
	return err != nil || st.SigPnd&ours != 0
}

// retire keeps the breakpoints of a program that the target has replaced.
func (x *traps) retire(auxv procfs.Auxv, t *bkpt.Table) {
	if len(x.former) == keptFormer {
		x.former = slices.Delete(x.former, 0, 1)
	}
	x.former = append(x.former, former{auxv, t})
}

// tableOf returns the breakpoints that a forked process has in its memory. They are those of the program that the target had
// when it forked, which may have been replaced since (TestForkBeforeExec). A fork copies the auxiliary vector.
func (x *traps) tableOf(pid int) *bkpt.Table {
	if len(x.former) == 0 {
		return x.table
	}
	auxv, err := procfs.ReadAuxv(pid)
	if err != nil || maps.Equal(auxv, x.c.image.program.Auxv()) {
		return x.table
	}
	for _, f := range slices.Backward(x.former) {
		if maps.Equal(auxv, f.auxv) {
			return f.table
		}
	}
	return x.table
}

// clean takes our breakpoints out of the memory of a forked process, by the table of its program. If no descriptor can
// write to that memory, they are taken out word by word.
func (x *traps) clean(t *tracee.Thread, table *bkpt.Table) {
	x.hideLeaving()
	g := &ground{pid: t.TID}
	defer g.close()
	if m, err := mem.OpenPatient(t.TID); err == nil {
		defer m.Close()
		if m.Writable() {
			table.Clean(m.Quick(), g)
			return
		}
	}
	table.Clean(ptrace.Memory{TID: t.TID}, g)
}

// newTable returns a table for the present address space.
func (x *traps) newTable() *bkpt.Table {
	t := bkpt.NewTable(x.g.Memory.Bound)
	x.ground.close()
	x.ground.pid = x.g.PID
	t.SetGround(&x.ground)
	t.HideElsewhere(x.hideElsewhere)
	t.Stays = x.stays
	x.g.Text = t
	return t
}
