package unwind

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// A recording is what a thread looked like at one stop.
type recording struct {
	regs  ptrace.Regs
	stack Stack
}

// record stops a program n times in the middle of its work.
func record(b *testing.B, argv []string, n int) (*testSpace, []recording) {
	target := ptest.Start(b, argv...)
	target.Ready()
	r := seize(b, target.PID)
	var rec []recording
	for range n {
		r.await(target.PID)
		r.look(target.PID, func(regs *ptrace.Regs, s Stack) {
			s.Data = slices.Clone(s.Data)
			rec = append(rec, recording{*regs, s})
		})
	}
	r.release()
	target.Signal(syscall.SIGSTOP) // so that it does not compete with the benchmark
	return openSpace(b, target.PID), rec
}

// BenchmarkUnwind measures the cost of a frame: warm, when every program counter has
// been seen before, and cold, with new Tables for each stack, whose indexes are read again
// too.
func BenchmarkUnwind(b *testing.B) {
	for _, s := range scenarios {
		switch s.name {
		case "c", "go", "musl-static", "python", "c-static":
		default:
			continue
		}
		b.Run(s.name, func(b *testing.B) {
			space, rec := record(b, s.argv(b), 50)
			b.Run("warm", func(b *testing.B) { warm(b, space, rec) })
			b.Run("cold", func(b *testing.B) { cold(b, space, rec) })
		})
	}
}

func warm(b *testing.B, space *testSpace, rec []recording) {
	u := New(space)
	var frames []Frame
	for i := range rec {
		frames, _ = u.Unwind(&rec[i].regs, rec[i].stack, frames[:0])
	}
	b.ReportAllocs()
	n, start := 0, cpu()
	for i := 0; b.Loop(); i++ {
		r := &rec[i%len(rec)]
		frames, _ = u.Unwind(&r.regs, r.stack, frames[:0])
		n += len(frames)
	}
	perFrame(b, n, cpu()-start)
}

func cold(b *testing.B, space *testSpace, rec []recording) {
	u := New(space)
	var frames []Frame
	n, start := 0, cpu()
	for i := 0; b.Loop(); i++ {
		r := &rec[i%len(rec)]
		for j := range space.maps {
			if t := space.maps[j].Table; t != nil {
				space.maps[j].Table = &Table{obj: t.obj}
			}
		}
		frames, _ = u.Unwind(&r.regs, r.stack, frames[:0])
		n += len(frames)
	}
	perFrame(b, n, cpu()-start)
}

// cpu returns the processor time that the process has used, in nanoseconds: what a
// frame costs on a machine that does other things as well.
func cpu() int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

func perFrame(b *testing.B, frames int, ns int64) {
	b.ReportMetric(float64(ns)/float64(frames), "cpu-ns/frame")
}

// BenchmarkFunction measures finding and compiling functions of a big executable: all
// of gdb's, first new, then known.
func BenchmarkFunction(b *testing.B) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		b.Skip("gdb is not installed")
	}
	o := openObject(b, gdb)
	var pcs []uint64
	x := newLinearIndex(&(&Table{obj: o}).frames().sec, (&Table{obj: o}).frames().cie)
	for _, s := range x {
		pcs = append(pcs, (s.start+s.end)/2)
	}
	b.Run("compile", func(b *testing.B) {
		t := &Table{obj: o}
		for i := 0; b.Loop(); i++ {
			if i%len(pcs) == 0 {
				t = &Table{obj: o}
			}
			t.function(pcs[i%len(pcs)])
		}
	})
	b.Run("find", func(b *testing.B) {
		t := &Table{obj: o}
		for _, pc := range pcs {
			t.function(pc)
		}
		for i := 0; b.Loop(); i++ {
			fn := t.function(pcs[i*7919%len(pcs)])
			fn.row(fn.start)
		}
	})
}
