package unwind

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// A recording is the state of a thread at one stop.
type recording struct {
	regs  ptrace.Regs
	stack Stack
}

// record stops a program n times in the middle of its work, and records what a timer of the kernel
// would see.
func record(b *testing.B, argv []string, n int) (*testSpace, []recording) {
	target := ptest.Start(b, argv...)
	target.Ready()
	warmUp(target.PID)
	tid := busiest(target.PID)
	r := seize(b, target.PID)
	var rec []recording
	for range n {
		r.await(tid)
		r.look(tid, func(regs *ptrace.Regs, s Stack) {
			s.Data, s.Chain = slices.Clone(s.Data), r.pointers(regs)
			rec = append(rec, recording{*regs, s})
		})
	}
	r.release()
	target.Signal(syscall.SIGSTOP) // so that it does not compete with the benchmark
	return openSpace(b, target.PID), rec
}

// busiest returns the thread of a process that has used the most processor time.
func busiest(pid int) int {
	tids, _ := procfs.Tasks(pid, nil)
	best, most := pid, uint64(0)
	for _, tid := range tids {
		if st, err := procfs.ReadTaskStat(pid, tid); err == nil && st.UTime+st.STime > most {
			best, most = tid, st.UTime+st.STime
		}
	}
	return best
}

// BenchmarkUnwind measures the cost of a frame. Warm: every program counter has been seen
// before. Cold: each stack has new Tables, whose indexes are read again too.
func BenchmarkUnwind(b *testing.B) {
	for _, s := range scenarios {
		switch s.name {
		case "c", "c-static", "musl-static", "rust", "go", "java", "node", "python":
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
	b.ReportMetric(float64(u.Counts().Outside)/float64(b.N), "reads/op")
}

func cold(b *testing.B, space *testSpace, rec []recording) {
	u := New(space)
	var frames []Frame
	n, start := 0, cpu()
	for i := 0; b.Loop(); i++ {
		r := &rec[i%len(rec)]
		for j := range space.maps {
			if t := space.maps[j].Table; t != nil {
				space.maps[j].Table = newTable(t.obj)
			}
		}
		frames, _ = u.Unwind(&r.regs, r.stack, frames[:0])
		n += len(frames)
	}
	perFrame(b, n, cpu()-start)
}

// cpu returns the processor time that the process has used, in nanoseconds. It
// gives the cost of a frame on a machine that does other things as well.
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

// big are executables and libraries with very many functions, as far as they are installed.
func big(b *testing.B) map[string]*os.File {
	found := map[string]*os.File{}
	for name, pattern := range map[string]string{
		"gdb":      "/usr/bin/gdb",
		"node":     "/usr/bin/node",
		"libLLVM":  "/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1",
		"chromium": "/usr/lib/chromium/chromium",
	} {
		if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
			f, err := os.Open(paths[0])
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { f.Close() })
			found[name] = f
		}
	}
	if len(found) == 0 {
		b.Skip("none of the large files is installed")
	}
	return found
}

// openTable opens a file anew.
func openTable(b *testing.B, file *os.File) *Table {
	st, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	f, err := elfsym.New(file, st.Size(), file.Name(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return NewTable(f)
}

// starts returns the start addresses of the functions of a table.
func starts(t *Table) []uint64 {
	var pcs []uint64
	switch x := t.contents().frames().index.(type) {
	case *searchTable:
		for i := range x.len() {
			pcs = append(pcs, x.field(2*i))
		}
	case linearIndex:
		for _, s := range x {
			pcs = append(pcs, s.start)
		}
	}
	return pcs
}

// BenchmarkFunction measures finding and compiling functions of big executables: the first
// function of a file that was not open, other new functions, and known functions.
func BenchmarkFunction(b *testing.B) {
	for name, file := range big(b) {
		pcs := starts(openTable(b, file))
		b.Run(name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				openTable(b, file).function(pcs[i*7919%len(pcs)])
			}
			b.ReportMetric(float64(len(pcs)), "functions")
		})
		b.Run(name+"/compile", func(b *testing.B) {
			b.ReportAllocs()
			var t *Table
			for i := 0; b.Loop(); i++ {
				if i%len(pcs) == 0 {
					t = openTable(b, file)
				}
				t.function(pcs[i%len(pcs)])
			}
		})
		b.Run(name+"/find", func(b *testing.B) {
			t := openTable(b, file)
			n := min(len(pcs), 10_000)
			for _, pc := range pcs[:n] {
				t.function(pc)
			}
			for i := 0; b.Loop(); i++ {
				fn := t.function(pcs[i*7919%n])
				fn.row(fn.start)
			}
		})
	}
}
