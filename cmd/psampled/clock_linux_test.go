package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// wallClock is the clock of one process, which a test can set. The machine's clock must not be set, for the sake of other
// processes, and no namespace has a CLOCK_REALTIME of its own (time_namespaces(7)). But a program reads the clock by code
// that the kernel has mapped into its memory (vdso(7)). A test replaces that code. CLOCK_MONOTONIC is unchanged.
type wallClock struct {
	t      *testing.T
	memory *os.File
	addr   int64 // address of the seconds that are added
	offset time.Duration
}

// ownClock is __vdso_clock_gettime, which asks the kernel and adds a number of seconds, at its end, to CLOCK_REALTIME.
var ownClock = []byte{
	0xb8, 228, 0, 0, 0, // mov $SYS_clock_gettime, %eax
	0x0f, 0x05, //         syscall
	0x85, 0xff, //         test %edi, %edi
	0x75, 0x0a, //         jne ret
	0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov offset(%rip), %rcx
	0x48, 0x01, 0x0e, //   add %rcx, (%rsi)
	0xc3, //               ret
	0, 0, // offset is at 24, where 8 bytes are written at once
	0, 0, 0, 0, 0, 0, 0, 0,
}

const offsetAt = 24

// startClocked starts a command that has a clock of its own from its first instruction on.
func startClocked(t *testing.T, cmd *exec.Cmd) (*running, *wallClock) {
	t.Helper()
	runtime.LockOSThread() // the thread is the tracer of a process that stops at its exec
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	r := launch(t, cmd)
	pid := cmd.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || !ws.Stopped() {
		t.Fatalf("%v, %#x", err, ws)
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c := &wallClock{t: t, memory: f}
	at := clockFunction(t, pid, f)
	c.addr = at + offsetAt
	if _, err := f.WriteAt(ownClock, at); err != nil {
		t.Fatal(err)
	}
	if err := syscall.PtraceDetach(pid); err != nil {
		t.Fatal(err)
	}
	return r, c
}

// clockFunction returns the address of __vdso_clock_gettime in a process.
func clockFunction(t *testing.T, pid int, memory io.ReaderAt) int64 {
	t.Helper()
	maps, err := procfs.Maps(pid)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m procfs.Map) bool { return m.Path == "[vdso]" })
	if i < 0 {
		t.Fatal("no vdso")
	}
	image := make([]byte, maps[i].End-maps[i].Start)
	if _, err := memory.ReadAt(image, int64(maps[i].Start)); err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(ownClock)) {
			at := int64(maps[i].Start + s.Value)
			if at%8 != 0 {
				t.Fatalf("the function is at %#x", at)
			}
			return at
		}
	}
	t.Fatal("no function of that name that is large enough")
	return 0
}

// set sets the difference of the clock from the machine's, in whole seconds.
func (c *wallClock) set(offset time.Duration) {
	c.t.Helper()
	c.offset = offset
	if _, err := c.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(offset/time.Second)), c.addr); err != nil {
		c.t.Fatal(err)
	}
}

// taker is a server that accepts pushed profiles, unless it is told not to.
type taker struct {
	t   *testing.T
	pid int // process that the profiles are of

	mu      sync.Mutex
	used    time.Duration // processor time of that process when the first profile came
	refuse  bool
	refused int
	taken   []*profile.Profile
}

func (k *taker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Series []struct{ Samples []struct{ RawProfile []byte } }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		k.t.Error(err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse {
		k.refused++
		w.Header().Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
		w.WriteHeader(503)
		return
	}
	p, err := profile.ParseData(request.Series[0].Samples[0].RawProfile)
	if err != nil {
		k.t.Error(err)
		return
	}
	if len(k.taken) == 0 {
		k.used = processorTime(k.t, k.pid)
	}
	k.taken = append(k.taken, p)
	io.WriteString(w, "{}")
}

// state returns how many profiles were accepted and how many requests were refused. It sets whether requests are refused
// from now on.
func (k *taker) state(refuse bool) (taken, refused int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refuse = refuse
	return len(k.taken), k.refused
}

// clocked is a psampled whose clock is stepped.
type clocked struct {
	*running
	clock  *wallClock
	steps  []time.Duration // all offsets that the clock has had
	pushed *taker
}

// step sets the clock.
func (c *clocked) step(offset time.Duration) {
	c.clock.set(offset)
	c.steps = append(c.steps, offset)
}

// fetch requests a page. It returns the answer, and when it was requested.
func (c *clocked) fetch(path string) (int, []byte, time.Time) {
	c.t.Helper()
	begun := time.Now()
	q, err := http.NewRequest("GET", c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer secret")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return a.StatusCode, body, begun
}

// profile requests a profile of length d, and checks its times. It calls during, if that is not nil, in the middle.
func (c *clocked) profile(page string, d time.Duration, during func()) {
	c.t.Helper()
	began := c.clock.offset
	var acting sync.WaitGroup
	if during != nil {
		acting.Go(func() { time.Sleep(d / 2); during() })
	}
	path := "/debug/pprof/" + page
	if d > 0 {
		path += fmt.Sprintf("?seconds=%v", d.Seconds())
	}
	status, body, begun := c.fetch(path)
	took := time.Since(begun)
	acting.Wait()
	if status != 200 {
		c.t.Fatalf("%s: %d %s", page, status, body)
	}
	p, err := profile.ParseData(body)
	if err != nil {
		c.t.Fatal(err)
	}
	if page == "goroutine" { // the stacks may be those of an earlier stop, and say so
		if start, ok := c.start(p, begun); !ok || start > took {
			c.t.Errorf("%s: it says that it began at %v", page, time.Unix(0, p.TimeNanos))
		}
		return
	}
	if length := time.Duration(p.DurationNanos); length < d || length > took {
		c.t.Errorf("%s: the profile of %v says %v, and came after %v", page, d, length, took)
	}
	if late := time.Unix(0, p.TimeNanos).Sub(begun.Add(began)); p.TimeNanos <= 0 || late < -time.Second || late > took {
		c.t.Errorf("%s: it says that it began at %v, %v after it was asked for", page, time.Unix(0, p.TimeNanos), late)
	}
	if page != "profile" {
		return
	}
	var cpu time.Duration
	for _, s := range p.Sample {
		cpu += time.Duration(s.Value[1])
	}
	if cpu <= 0 || cpu > took+took/10 {
		c.t.Errorf("%v of processor time in %v", cpu, took)
	}
}

// start returns when a profile began, after some moment, by the clock of that time. It is false for a time that no clock
// had.
func (c *clocked) start(p *profile.Profile, after time.Time) (time.Duration, bool) {
	for _, offset := range c.steps {
		start := time.Unix(0, p.TimeNanos).Add(-offset).Sub(after)
		if p.TimeNanos > 0 && start.Abs() < 10*time.Minute {
			return start, true
		}
	}
	return 0, false
}

// windows checks the pushed profiles. By the clock of that time, each profile begins where another has ended. Together
// they have the processor time of the process from the first profile on. before, used and after are its processor time at
// the beginning, before the end and after the end.
func (c *clocked) windows(begun time.Time, before, used, after time.Duration) {
	c.t.Helper()
	c.pushed.mu.Lock()
	defer c.pushed.mu.Unlock()
	type window struct{ start, length, cpu time.Duration }
	var list []window
	var cpu time.Duration
	for _, p := range c.pushed.taken {
		start, ok := c.start(p, begun)
		if !ok || start < 0 {
			c.t.Errorf("a profile of %v", time.Unix(0, p.TimeNanos))
		}
		w := window{start, time.Duration(p.DurationNanos), 0}
		for _, s := range p.Sample {
			w.cpu += time.Duration(s.Value[1])
		}
		list = append(list, w)
		cpu += w.cpu
	}
	slices.SortFunc(list, func(a, b window) int { return int(a.start - b.start) })
	for i, w := range list {
		if w.length <= 0 {
			c.t.Errorf("window %d: %v", i, w.length)
		}
		if i == 0 {
			continue
		}
		// A window in which the process never ran is not pushed. The check that no processor time is missing is below.
		if gap := w.start - list[i-1].start - list[i-1].length; gap < -5*time.Millisecond {
			c.t.Errorf("window %d begins %v before the end of the last", i, -gap)
		} else if gap > 5*time.Millisecond {
			c.t.Logf("no window for %v", gap)
		}
	}
	if later, least := cpu-list[0].cpu, used-c.pushed.used; later < least-least/20-50*time.Millisecond || cpu > after-before {
		c.t.Errorf("the windows have %v, without the first %v, of %v to %v", cpu, later, least, after-before)
	}
	c.t.Logf("%d windows, %v of processor time", len(list), cpu)
}

// TestClockSteps: the clock is set forward and back by hours, to 1970 too, in the middle of profiles, between them, and while nothing can be pushed.
// The suspension of a machine is a step forward for psampled: CLOCK_MONOTONIC stands still meanwhile (clock_gettime(2)).
// Profiles have their right length, say when they began by the clock of that time, and each follows the one before.
// Limits and tokens hold. There is no burst of pushes, and nothing waits for an hour.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("ownClock is code of x86-64")
	}
	for _, timers := range []string{"auto", "off"}[:ptest.Rounds(1, 2, 2)] {
		t.Run(timers, func(t *testing.T) {
			t.Parallel()
			clockSteps(t, timers)
		})
	}
}

func clockSteps(t *testing.T, timers string) {
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	c := &clocked{pushed: &taker{t: t, pid: g.PID}, steps: []time.Duration{0}}
	server := httptest.NewServer(c.pushed)
	defer server.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"token":  "secret\n",
		"c.yaml": fmt.Sprintf("listen: localhost:0\ntimers: %s\ntoken_file: %s/token\ntargets: [{pid: %d}]\npush: {url: %q, interval: 1s}\n", timers, dir, g.PID, server.URL),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "psampled")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	begun, before := time.Now(), processorTime(t, g.PID)
	c.running, c.clock = startClocked(t, exec.Command(link, "-c", filepath.Join(dir, "c.yaml")))
	c.url = c.await(`served at (\S+)/$`)

	length := time.Duration(ptest.Rounds(800, 1000, 1000)) * time.Millisecond
	c.profile("profile", length, nil)
	offsets := []time.Duration{time.Hour, -time.Hour, (5 * time.Second) - time.Since(time.Unix(0, 0)).Truncate(time.Second), 0, time.Hour}
	for _, offset := range offsets[:ptest.Rounds(4, 5, 5)] {
		c.profile("profile", length, func() { c.step(offset) })
		c.profile("goroutine", 0, nil)
		if timers == "auto" { // without timers the process is under control all the time
			c.profile("threadcreate", 0, nil)
		}
		c.profile("wall", 300*time.Millisecond, nil)
		if status, body, _ := c.fetch("/debug/pprof/profile?seconds=1000"); status != 400 || !strings.Contains(string(body), "more than the 5m0s") {
			t.Errorf("%d %s", status, body)
		}
		if status, _ := c.get("/targets"); status != 401 {
			t.Errorf("without a token: %d", status)
		}
	}
	c.outage(-2 * time.Hour)
	c.outage(2 * time.Hour)
	used := processorTime(t, g.PID)
	c.cmd.Process.Signal(syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	c.windows(begun, before, used, processorTime(t, g.PID)+50*time.Millisecond)
}

// outage has the server accept nothing for some seconds, in which the clock is stepped. Then it waits until all waiting
// profiles have been pushed.
func (c *clocked) outage(offset time.Duration) {
	c.t.Helper()
	_, already := c.pushed.state(true)
	begun := time.Now()
	await := func(what string, cond func() bool) {
		c.t.Helper()
		for !cond() {
			if time.Since(begun) > time.Minute {
				c.t.Fatal(what)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	await("nothing is tried", func() bool { _, n := c.pushed.state(true); return n > already })
	c.step(offset)
	length := time.Duration(ptest.Rounds(1500, 3000, 3000)) * time.Millisecond
	time.Sleep(length)
	taken, refused := c.pushed.state(false)
	// Each request is tried at once, and again not sooner than the server asks for. With one window a second there are at
	// most five tries in three seconds.
	if tries := refused - already; tries > int(25*length/(3*time.Second)) {
		c.t.Errorf("%d tries in %v", tries, time.Since(begun))
	}
	var body []byte
	await("what could not be pushed is not", func() bool {
		_, body, _ = c.fetch("/metrics")
		n, _ := c.pushed.state(false)
		return n > taken+int(length/time.Second) && strings.Contains(string(body), "psampled_push_waiting_bytes 0\n")
	})
	for _, outcome := range []string{"expired", "refused", "overflowed", "unprepared"} {
		if line := fmt.Sprintf("psampled_push_profiles_total{outcome=%q} 0\n", outcome); !strings.Contains(string(body), line) {
			c.t.Errorf("no %s", line)
		}
	}
}

// processorTime returns the processor time of a process, to 10 ms.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := procfs.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(stat.UTime+stat.STime) * 10 * time.Millisecond
}
