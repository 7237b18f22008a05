package hostile_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/hostile"
	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// What a tool may take for one attacker, beyond the time that it was asked to sample. The time that has passed depends on the
// machine, the processor time does not.
const (
	mostCPU    = 3 * time.Second
	mostTime   = 10 * time.Second
	mostMemory = 256 << 20
)

// build builds one of the tools.
func build(t *testing.T, tool string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), tool)
	if out, err := exec.Command("go", "build", "-o", exe, "ptools/cmd/"+tool).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// kinds returns the names of all attacks: those of files, those of memory that does not come, a perf map, and processes that are
// hard to look at (nuisance.c).
func kinds() []string {
	all := append(hostile.Kinds(), "unserved spin", "unserved sleep", "unserved linkmap", "perfmap")
	for _, kind := range nuisances {
		all = append(all, "nuisance "+kind)
	}
	return all
}

var nuisances = []string{"maps", "names", "deep", "execs", "threads", "forks", "perfmap", "fifo", "zeros", "sparse", "rewrite", "root"}

// nuisance starts one of them.
func nuisance(t *testing.T, kind string) *ptest.Target {
	exe, dir := ptest.BuildC(t, "nuisance.c"), t.TempDir()
	if kind == "root" {
		h := ptest.NewHanging(t, exe)
		defer h.Hang()
		dir = filepath.Dir(h.Program)
	}
	g := ptest.Start(t, exe, "-k", kind, "-d", dir)
	g.Ready()
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", g.PID)) })
	return g
}

// attacker starts a process that makes an attack, with a low priority: the tests measure what the tools do, not how they share
// the processors.
func attacker(t *testing.T, kind string) *ptest.Target {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("userfaultfd, for faults of the kernel, and timers of the processors are for root")
	}
	var g *ptest.Target
	if way, ok := strings.CutPrefix(kind, "unserved "); ok {
		g = ptest.Start(t, ptest.BuildC(t, "unserved.c"), "-k", way)
		g.Ready()
	} else if way, ok := strings.CutPrefix(kind, "nuisance "); ok {
		g = nuisance(t, way)
	} else if kind == "perfmap" {
		g = ptest.Start(t, ptest.BuildC(t, "jit.c"), "-n", "100000000")
		g.Ready()
		perfMap(t, g.PID)
	} else {
		exe := filepath.Join(t.TempDir(), kind)
		if err := os.WriteFile(exe, hostile.Build(kind, 0), 0o755); err != nil {
			t.Fatal(err)
		}
		if kind == "debuglink" { // gigabytes have to be read for its checksum
			large := filepath.Join(filepath.Dir(exe), hostile.DebugLink)
			if err := os.WriteFile(large, hostile.Build("plain", 0), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(large, 3<<30); err != nil {
				t.Fatal(err)
			}
		}
		g = ptest.Start(t, exe)
	}
	schedule(t, g.PID, unix.SCHED_IDLE)
	return g
}

// schedule sets the policy of the threads of a process. With SCHED_IDLE they run when nobody else wants the processor. nice 19 is not enough: a
// thread of the same machine that wakes may wait for a tick then.
func schedule(t *testing.T, pid int, policy uint32) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		a := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy}
		if err := unix.SchedSetAttr(tid, a, 0); err != nil && err != unix.ESRCH {
			t.Fatal(err)
		}
	}
}

// perfMap adds more than a million functions that overlap to the perf map of a process, which removes it.
func perfMap(t *testing.T, pid int) {
	f, err := os.OpenFile(fmt.Sprintf("/tmp/perf-%d.map", pid), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for i := range 1_200_000 {
		fmt.Fprintf(w, "%x %x %0*d\n", 0x10000+16*i, 1<<20, 1+i%150, i)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestTools: each attacker alone. The tools end in time, with status 0, and have not taken much memory. The attacker runs on.
func TestTools(t *testing.T) {
	psample, pgrab := build(t, "psample"), build(t, "pgrab")
	for _, kind := range ptest.Some(t, kinds(), ptest.Rounds(2, 3, 100)) {
		t.Run(kind, func(t *testing.T) {
			g := attacker(t, kind)
			for _, argv := range [][]string{{psample, "-t", "0.5", "-p"}, {psample, "--timers", "off", "-t", "0.5", "-p"}, {pgrab, "-w", "-t", "0", "-p"}} {
				attacked(t, g, argv)
			}
			g.Kill()
		})
	}
}

// attacked runs a tool that looks at an attacker, and returns what it has printed.
func attacked(t *testing.T, g *ptest.Target, argv []string) string {
	t.Helper()
	name := strings.Join(append([]string{filepath.Base(argv[0])}, argv[1:len(argv)-1]...), " ")
	used := ptest.Measure(t, mostTime, append(argv, fmt.Sprint(g.PID))...)
	said := fmt.Sprintf("%s: %s after %v, with %v of processor time and %d MB", name, used.Status, used.Time, used.CPU, used.Memory>>20)
	t.Log(said)
	if used.Status != "exit status 0" || used.CPU > mostCPU || used.Memory > mostMemory {
		t.Errorf("%s\n%s", said, used.Output)
	}
	if g.TracerPID() != 0 || strings.ContainsRune("tTZ", rune(g.State())) {
		t.Errorf("%s: left in state %c, traced by %d", name, g.State(), g.TracerPID())
	}
	return used.Output
}
