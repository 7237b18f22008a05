package hostile_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// kinds returns the names of all attacks: those of files, those of memory that does not come, and a perf map.
func kinds() []string {
	return append(hostile.Kinds(), "unserved spin", "unserved sleep", "unserved linkmap", "perfmap")
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
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, g.PID, 19); err != nil {
		t.Fatal(err)
	}
	return g
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
	for _, kind := range ptest.Some(t, kinds(), ptest.Rounds(2, 6, 100)) {
		t.Run(kind, func(t *testing.T) {
			g := attacker(t, kind)
			for _, argv := range [][]string{{psample, "-t", "0.5", "-p"}, {psample, "--timers", "off", "-t", "0.5", "-p"}, {pgrab, "-w", "-t", "0", "-p"}} {
				attacked(t, g, argv)
			}
			g.Kill()
		})
	}
}

// attacked runs a tool that looks at an attacker.
func attacked(t *testing.T, g *ptest.Target, argv []string) {
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
}

// TestDaemon: several attackers at once, each of which is profiled. An honest process beside them gets its profile in time,
// psampled knows that it works, and it ends when it is told to.
func TestDaemon(t *testing.T) {
	for _, timers := range ptest.Some(t, []string{"auto", "off"}, ptest.Rounds(1, 1, 2)) {
		t.Run(timers, func(t *testing.T) { besieged(t, timers) })
	}
}

func besieged(t *testing.T, timers string) {
	psampled, mix := build(t, "psampled"), ptest.BuildC(t, "mix.c") // before there are attackers, which spin
	var all []*ptest.Target
	for _, kind := range []string{"symbols", "gotab", "abbrev", "zstd", "ranges", "unserved spin", "unserved sleep", "unserved linkmap"} {
		all = append(all, attacker(t, kind))
	}
	honest := ptest.Start(t, mix, "-n", "100000000")
	argv := []string{psampled, "-l", "localhost:0", "--timers", timers, "-p", fmt.Sprint(honest.PID)}
	for _, g := range all {
		argv = append(argv, "-p", fmt.Sprint(g.PID))
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	url := served(t, r)
	defer http.DefaultClient.CloseIdleConnections()
	asked := make(chan struct{})
	for _, g := range all {
		for _, kind := range []string{"profile", "wall"} {
			go func() { // ends with the answer, which is of no interest, or with psampled
				get(fmt.Sprintf("%s/targets/%d/debug/pprof/%s?seconds=1", url, g.PID, kind))
				asked <- struct{}{}
			}()
		}
	}
	for range 3 {
		for _, path := range []string{fmt.Sprintf("/targets/%d/debug/pprof/profile?seconds=1", honest.PID), "/healthz", "/metrics", "/targets"} {
			began := time.Now()
			status, body := get(url + path)
			t.Logf("%s: %d, %v", path, status, time.Since(began))
			if status != 200 || len(body) == 0 || time.Since(began) > mostTime {
				t.Errorf("%s: %d after %v: %.200s", path, status, time.Since(began), body)
			}
		}
	}
	memory := ptest.Peak(t, cmd.Process.Pid)
	if memory > 4*mostMemory {
		t.Errorf("%d MB", memory>>20)
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Logf("ended after %v, %d MB", time.Since(began), memory>>20)
		if err != nil {
			t.Error(err)
		}
	case <-time.After(mostTime):
		t.Errorf("psampled has not ended")
		cmd.Process.Kill()
		<-ended
	}
	for range 2 * len(all) {
		<-asked
	}
}

// served returns the address that psampled says it is served at.
func served(t *testing.T, r io.Reader) string {
	t.Helper()
	var text []byte
	for b := make([]byte, 1<<12); ; {
		n, err := r.Read(b)
		text = append(text, b[:n]...)
		if _, after, ok := strings.Cut(string(text), "served at "); ok && strings.Contains(after, "\n") {
			return strings.TrimSuffix(strings.TrimSpace(strings.Split(after, "\n")[0]), "/")
		}
		if err != nil {
			t.Fatalf("psampled: %v\n%s", err, text)
		}
	}
}

// get returns the status of an answer, 0 without one.
func get(url string) (int, []byte) {
	a, err := http.Get(url)
	if err != nil {
		return 0, nil
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, nil
	}
	return a.StatusCode, body
}
