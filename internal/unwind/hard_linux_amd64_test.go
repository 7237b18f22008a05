package unwind

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// deleted runs a program whose file is deleted by the time it runs.
func deleted(of func(testing.TB) []string) func(testing.TB) []string {
	return func(t testing.TB) []string {
		copied := filepath.Join(t.TempDir(), "copy")
		return []string{"sh", "-c", `cp "$0" "$1"; exec 9<"$1"; rm "$1"; exec /proc/self/fd/9`, of(t)[0], copied}
	}
}

// memfd runs a program whose file is in no file system.
func memfd(of func(testing.TB) []string) func(testing.TB) []string {
	return func(t testing.TB) []string {
		ptest.Need(t, "python3")
		return []string{"python3", "-c", `import os, sys
fd = os.memfd_create("program")
os.write(fd, open(sys.argv[1], "rb").read())
os.execve(fd, ["program"], os.environ)`, of(t)[0]}
	}
}

// unbound runs a program in which the run-time linker always binds symbols anew.
func unbound(of func(testing.TB) []string) func(testing.TB) []string {
	return func(t testing.TB) []string { return append([]string{"env", "LD_BIND_NOT=1"}, of(t)...) }
}

var (
	fibreC   = [][]string{{"outer", "inner", "work"}, {"main", "rounds"}}
	contextC = [][]string{{"__start_context", "fibre"}}
	coroCC   = [][]string{{"main", "drive(task&)", "inner(int)"}}
	bareC    = [][]string{{"main", "outer", "back"}, {"main", "outer", "framed"}, {"main", "outer", "pushing"},
		{"main", "outer", "sizing"}, {"main", "outer", "jumping"}, {"main", "outer", "leaf"}}
	lazyC   = [][]string{{"main", "outer", "inner", "choose"}, {"main", "outer", "inner", "one"}, {"inner", "memset"}, {"inner", "floor"}}
	argsCC  = [][]string{{"main", "outer(long)", "middle(long)", "many(long, long, long, long, long, long, long, long, long)"}}
	panicRS = [][]string{{"main", "panic::main", "panic::outer", "panic::middle", "panic::inner"}}
	hardGo  = [][]string{{"main.main", "main.turn", "main.deferred"}, {"main.main", "main.turn", "main.allocate"},
		{"main.turn", "main.fault"}, {"runtime.sigpanic", "main.fault.func1"}, {"main.turn", "runtime.Callers"}}
	madeC    = [][]string{{"main", "outer", "inner", "work"}}
	threadGo = [][]string{{"start", "cOuter", "crosscall2", "runtime.cgocallback", "main.goCallback"},
		{"start", "cOuter", "cWork"}, {"main.goCallback", "runtime.cgocall", "runtime.asmcgocall", "cInner"}}
	overflowC = [][]string{{"main", "recurse"}, {"main", "recurse", "handler", "nested"}}
)

// hard are programs with unusual stacks.
var hard = []scenario{
	// glibc describes swapcontext wrongly behind the instruction that loads the other stack pointer.
	{"fibres", c("fibre.c"), fibreC, 30},
	{"fibres-static", c("fibre.c", "-static"), append(contextC, fibreC...), 30},
	{"fibres-no-tables", c("fibre.c", "-g0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer"), fibreC, 30},
	{"overflow", c("overflow.c"), overflowC, 0},
	{"coroutines", c("coroutine.cc", "-std=c++20"), coroCC, 0},
	{"assembler", c("bare.c"), bareC, 0},
	{"assembler-static", c("bare.c", "-static"), bareC, 0},
	{"jumped-to", c("made.c"), madeC, 0},
	{"never-returning", c("forever.c", "-s", "-static", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), nil, 0},
	{"lazy", unbound(c("lazy.c", "-Wl,-z,lazy", "-fno-builtin", "-lm")), lazyC, 0},
	{"static-irelative", c("lazy.c", "-static", "-fno-builtin", "-lm"), lazyC, 0},
	{"args-size", c("args.cc", "-Os", "-mno-accumulate-outgoing-args"), argsCC, 0},
	{"deleted", deleted(c("chain.c")), chainC, 0},
	{"memfd", memfd(c("chain.c")), chainC, 0},
	// Like throw.
	{"rust-panics", rust("panic.rs", "-O"), panicRS, 40},
	{"go-runtime", golang("hard.go"), hardGo, 0},
	{"go-runtime-stripped", golang("hard.go", "-ldflags=-s -w"), hardGo, 0},
	{"cgo-thread", golang("cgothread.go"), threadGo, 0},
	{"cgo-stripped", golang("cgo.go", "-ldflags=-s -w"), nil, 0},
}

// TestHardStacks is TestChains for programs that change stacks, unwind themselves, or have code
// that nothing describes.
func TestHardStacks(t *testing.T) {
	for _, s := range hard {
		t.Run(s.name, func(t *testing.T) {
			s.run(t, ptest.Rounds(50, 400, 10_000))
		})
	}
}

// TestCallerIsNotSkipped: a function of assembler keeps the frame pointer of a caller and has a frame of unknown size. Its own caller is
// not skipped: the stack has it, or is cut.
func TestCallerIsNotSkipped(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "testdata/realigned.c", "-O1", "-fno-omit-frame-pointer"))
	target.WaitFor("stop", target.Stopped)
	space := openSpace(t, target.PID)
	for _, s := range stacksOf(t, target.PID) {
		names := space.names(s.frames)
		i := slices.Index(names, "aligned")
		if i < 0 || i+1 < len(names) && names[i+1] != "inner" || i+1 == len(names) && s.end == Whole {
			t.Errorf("%v: %v", s.end, names)
		}
	}
	target.Signal(syscall.SIGCONT)
}

// TestVforkParent: a thread in vfork(2), or just behind it, has its return address in a register, and no memory on the stack.
func TestVforkParent(t *testing.T) {
	t.Run("waits", func(t *testing.T) { // it cannot be stopped
		target := ptest.Start(t, ptest.BuildC(t, "testdata/vforked.c"))
		target.Ready()
		task := procfs.UnopenedTask(target.PID, target.PID)
		defer task.Close()
		call, err := task.Syscall()
		if err != nil {
			t.Fatal(err)
		}
		m, err := mem.Open(target.PID)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		data := make([]byte, 64<<10)
		n, _ := m.ReadAt(data, int64(call.SP-128)) // the stack ends before
		var regs ptrace.Regs
		regs.SetPC(call.PC)
		regs.SetSP(call.SP)
		regs.SetSyscallArg(0, call.Args[0])
		space := openSpace(t, target.PID)
		frames, end := New(space).Unwind(&regs, Stack{Base: call.SP - 128, Data: data[:n], Mem: m, Partial: true}, nil)
		names := space.names(frames)
		if missing := checkChain(names, []string{"main", "launch", "vfork"}); end != Whole || missing != "" {
			t.Errorf("%v, without %q: %v", end, missing, names)
		}
	})
	t.Run("stopped behind it", func(t *testing.T) {
		target := ptest.Start(t, ptest.BuildC(t, "testdata/vforked.c"), "stop")
		target.WaitFor("stop", target.Stopped)
		space := openSpace(t, target.PID)
		for tid, s := range stacksOf(t, target.PID) {
			names := space.names(s.frames)
			if missing := checkChain(names, []string{"main", "launch", "vfork"}); s.end != Whole || missing != "" {
				t.Errorf("thread %d: %v, without %q: %v", tid, s.end, missing, names)
			}
		}
		target.Signal(syscall.SIGCONT)
	})
}

// TestVforkChild looks at a child that runs on its parent's stack.
func TestVforkChild(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "testdata/vforked.c"))
	target.Ready()
	children, err := os.ReadFile("/proc/" + strconv.Itoa(target.PID) + "/task/" + strconv.Itoa(target.PID) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatal(err)
	}
	space := openSpace(t, child)
	r := seize(t, child)
	defer r.release()
	u := New(space)
	for range 200 {
		r.await(child)
		r.look(child, func(regs *ptrace.Regs, stack Stack) {
			frames, end := u.Unwind(regs, stack, nil)
			names := space.names(frames)
			if missing := checkChain(names, []string{"main", "launch", "outer", "work"}); end != Whole || missing != "" || !slices.Contains(names, "main") {
				t.Errorf("%v, without %q: %v", end, missing, names)
			}
		})
	}
}
