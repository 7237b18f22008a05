package unwind

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// gdbScript prints, for each thread, a line with its number; a line for each frame with pc, sp,
// the address that is looked up, and gdb's name for it; and why gdb stops there. It leaves out
// what gdb shows without a frame on the stack: inlined functions, and callers that jumped to
// their callee, which gdb knows from debug information.
const gdbScript = `
import gdb
for t in gdb.selected_inferior().threads():
    t.switch()
    print("TID %d" % t.ptid[1])
    f, called = gdb.newest_frame(), 0
    while f is not None:
        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            at = f.pc() - called
            what = gdb.execute("info symbol %d" % at, to_string=True).split("\n")[0]
            print("#%d %d %d %s" % (f.pc(), int(f.read_register("rsp")) & (1 << 64) - 1, at, what))
            called = int(f.type() != gdb.SIGTRAMP_FRAME)
        try:
            older = f.older()
        except gdb.error as e:
            print("end %s" % e)
            break
        if older is None:
            print("end %s" % gdb.frame_stop_reason_string(f.unwind_stop_reason()))
        f = older
`

// A gdbFrame is a frame as gdb sees it.
type gdbFrame struct {
	pc, sp uint64
	name   string
	start  uint64 // of the function; 0 if gdb knows none
}

// A gdbStack is one thread's.
type gdbStack struct {
	frames []gdbFrame
	end    string
}

// gdbStacks asks gdb for the stacks of a stopped process.
func gdbStacks(t *testing.T, pid int) map[int]*gdbStack {
	t.Helper()
	script := filepath.Join(t.TempDir(), "stacks.py")
	if err := os.WriteFile(script, []byte(gdbScript), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
		"-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on",
		"-ex", fmt.Sprintf("set backtrace limit %d", MaxDepth),
		"-p", strconv.Itoa(pid), "-x", script}
	out, err := exec.Command("gdb", args...).Output()
	if err != nil {
		t.Fatalf("gdb: %v", err)
	}
	return parseGDB(out)
}

func parseGDB(out []byte) map[int]*gdbStack {
	stacks := map[int]*gdbStack{}
	s := &gdbStack{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "TID "); ok {
			tid, _ := strconv.Atoi(rest)
			s = &gdbStack{}
			stacks[tid] = s
		}
		if rest, ok := strings.CutPrefix(line, "end "); ok {
			s.end = rest
		}
		var f gdbFrame
		var at uint64
		if n, _ := fmt.Sscanf(line, "#%d %d %d", &f.pc, &f.sp, &at); n == 3 {
			f.symbol(strings.SplitN(line, " ", 4)[3], at)
			s.frames = append(s.frames, f)
		}
	}
	return stacks
}

// symbol reads "name + offset in section .text of file", which is at the address at.
func (f *gdbFrame) symbol(what string, at uint64) {
	name, _, ok := strings.Cut(what, " in section ")
	if !ok {
		return
	}
	f.name, f.start = name, at
	if i := strings.LastIndex(name, " + "); i >= 0 {
		if off, err := strconv.ParseUint(name[i+3:], 10, 64); err == nil {
			f.name, f.start = name[:i], at-off
		}
	}
}

// A difference is a frame for which gdb or eu-stack finds another caller than we do.
type difference struct {
	program string // empty: any
	frame   string // the function whose caller differs, or part of its name
	why     string // how they come to another caller
}

// differences are all known differences.
var differences = []difference{
	{"node", unnamed, "gdb has no table for code made at run time, and takes the words of the stack one by one"},
	{"node", untabled, "the same for V8's own functions in node's file"},
	{"luajit", unnamed, "the same"},
	{"guile", unnamed, "the same, but it comes to the interpreter's C code in the end"},
	{"busybox", untabled, "it has no table for its own functions, only for those of the C library"},
	{"", "clone", "a new thread is at its first instruction, in clone or clone3, which has no table because nothing called it; eu-stack takes the function it will call, or what its frame pointer shows, for its caller"},
	{"", "_start", "in the run-time linker, which starts as programs do but says so in no table, gdb takes the count of arguments for a return address"},
}

const (
	unnamed  = "[made at run time]"
	untabled = "[without a table]"
)

// knownDifference looks up the function whose caller differs.
func knownDifference(program, left string) (string, bool) {
	for _, d := range differences {
		if (d.program == program || d.program == "") && strings.Contains(left, d.frame) {
			return d.why, true
		}
	}
	return "", false
}

// compareGDB compares the stacks of all threads of a stopped process with gdb's.
func compareGDB(t *testing.T, program string, space *testSpace, pid int, ours map[int]endedStack) {
	t.Helper()
	theirs := gdbStacks(t, pid)
	for tid, s := range ours {
		compareThread(t, program, space, tid, s, theirs[tid])
	}
}

// compareThread compares program counter, stack pointer and function of each frame.
func compareThread(t *testing.T, program string, space *testSpace, tid int, s endedStack, g *gdbStack) {
	t.Helper()
	if g == nil {
		t.Errorf("gdb does not see thread %d", tid)
		return
	}
	at, met := samePrefix(space, s.frames, g.frames), 0
	if at == len(s.frames) && at == len(g.frames) {
		t.Logf("%d frames, gdb the same", at)
		return
	}
	first, theirs := at, g.frames[at:]
	for at < len(s.frames) || len(theirs) > 0 {
		left := left(space, s.frames[:at])
		why, ok := knownDifference(program, left)
		if !ok {
			t.Errorf("thread %d: gdb differs from #%d (%s), ours %v:\n%s\ngdb (%s):\n%s", tid, at, left, s.end, list(space, s.frames), g.end, g)
			return
		}
		t.Logf("gdb goes astray behind #%d %s: %s", at-1, left, why)
		// Frames that gdb makes up are skipped, up to our next frame. If that does not come, gdb has
		// strayed for good.
		n := 0
		for ; n == 0 && len(theirs) > 0; theirs = theirs[max(n, 1):] {
			n = samePrefix(space, s.frames[at:], theirs)
		}
		if at, met = at+n, met+n; n == 0 {
			break
		}
	}
	t.Logf("%d frames, gdb %d, the same %d and then %d", len(s.frames), len(g.frames), first, met)
}

// samePrefix returns how many frames are the same from the innermost on.
func samePrefix(space *testSpace, ours []Frame, theirs []gdbFrame) int {
	n := 0
	for n < min(len(ours), len(theirs)) && sameFrame(space, ours[n], theirs[n]) {
		n++
	}
	return n
}

// left names the function whose caller comes next.
func left(space *testSpace, frames []Frame) string {
	if len(frames) == 0 {
		return "the thread itself"
	}
	f := frames[len(frames)-1]
	m, ok := space.Find(f.PC)
	switch {
	case ok && m.Table == nil:
		return unnamed
	case noCFI(space, f):
		return untabled + " " + space.name(f)
	}
	return space.name(f)
}

// sameFrame reports whether gdb's frame is ours. A function may have several names, so its
// start is compared.
func sameFrame(space *testSpace, f Frame, g gdbFrame) bool {
	if f.PC != g.pc || f.SP != g.sp {
		return false
	}
	start, ok := space.start(f)
	return !ok || g.start == 0 || start == g.start
}

func (g *gdbStack) String() string {
	var b strings.Builder
	for i, f := range g.frames {
		fmt.Fprintf(&b, "  #%d %#x %v %s\n", i, f.pc, f.sp, f.name)
	}
	return b.String()
}
