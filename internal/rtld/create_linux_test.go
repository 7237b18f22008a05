package rtld

import (
	"errors"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// create starts a program, stopped at its exec and traced by the calling thread. The test stays on that thread.
func create(t *testing.T, exe string) process {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the breakpoint is an x86 one")
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	attr := &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	g := ptest.StartWith(t, &ptest.Options{Attr: attr}, exe)
	await(t, g.PID)
	return look(t, g)
}

// await waits for a SIGTRAP stop.
func await(t *testing.T, pid int) {
	t.Helper()
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			t.Fatal(err)
		}
	}
	if ws.StopSignal() != syscall.SIGTRAP {
		t.Fatalf("wait status %#x", ws)
	}
}

// runTo lets the program run up to addr.
func (p process) runTo(t *testing.T, addr uint64) {
	t.Helper()
	var old [1]byte
	if _, err := p.mem.ReadAt(old[:], int64(addr)); err != nil {
		t.Fatal(err)
	}
	poke := func(b byte) {
		if _, err := syscall.PtracePokeText(p.PID, uintptr(addr), []byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	poke(0xcc)
	if err := syscall.PtraceCont(p.PID, 0); err != nil {
		t.Fatal(err)
	}
	await(t, p.PID)
	poke(old[0])
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(p.PID, &regs); err != nil {
		t.Fatal(err)
	}
	if regs.PC() != addr+1 {
		t.Fatalf("stopped at %#x, want %#x", regs.PC(), addr+1)
	}
	regs.SetPC(addr)
	if err := syscall.PtraceSetRegs(p.PID, &regs); err != nil {
		t.Fatal(err)
	}
}

// step runs the one instruction at a breakpoint that has just been reached.
func (p process) step(t *testing.T) {
	t.Helper()
	if err := syscall.PtraceSingleStep(p.PID); err != nil {
		t.Fatal(err)
	}
	await(t, p.PID)
}

// TestFindAtExec: from the exec on, before the linker has run one instruction, its symbols show which address it will
// call. At the first call with a consistent list everything is published, and main can be reached.
func TestFindAtExec(t *testing.T) {
	for _, c := range dynamics {
		t.Run(c.name, func(t *testing.T) {
			p := create(t, c.build(t, "testdata/program.c", c.flags...))
			if _, err := Find(p.mem, p.auxv, nil); !errors.Is(err, ErrNotReady) {
				t.Errorf("without symbols: %v", err)
			}
			l, err := Find(p.mem, p.auxv, p.symbols(t, p.auxv[atBase]))
			if err != nil || l.Published || l.Break == 0 {
				t.Fatalf("%+v, %v", l, err)
			}
			if l.Debug != 0 {
				if _, _, err := Read(p.mem, l.Debug); !errors.Is(err, ErrNotReady) {
					t.Errorf("list at exec: %v", err)
				}
			}
			var states []State
			var objects []Object
			for {
				p.runTo(t, l.Break)
				now, err := Find(p.mem, p.auxv, nil)
				if err != nil || !now.Published || now.Break != l.Break {
					t.Fatalf("at the linker's call: %+v, %v", now, err)
				}
				if l.Debug != 0 && now.Debug != l.Debug {
					t.Errorf("r_debug at %#x, and at %#x by symbol", now.Debug, l.Debug)
				}
				state, list, err := Read(p.mem, now.Debug)
				if err != nil {
					t.Fatal(err)
				}
				states, objects = append(states, state), list
				if state == Consistent {
					break
				}
				p.step(t)
			}
			if len(objects) < 2 {
				t.Errorf("%v: %+v", states, objects)
			}
			if !slices.Equal(states, []State{Add, Consistent}) && !slices.Equal(states, []State{Consistent}) {
				t.Errorf("states %v", states)
			}
			main, ok := MainFromEntry(p.mem, p.auxv[9])
			if !ok && c.name == "glibc PIE by GOT" {
				p.runTo(t, p.auxv[9]) // by then the linker has relocated it
				main, ok = MainFromEntry(p.mem, p.auxv[9])
			}
			if !ok {
				t.Fatal("no main")
			}
			p.runTo(t, main)
			if err := syscall.PtraceDetach(p.PID); err != nil {
				t.Fatal(err)
			}
			if got := readMain(t, p.Target); got != main {
				t.Errorf("main at %#x, want %#x", main, got)
			}
			if _, state := p.Finish(); !state.Success() {
				t.Error(state)
			}
		})
	}
}
