package sample_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptools/internal/ptest"
	"ptools/pctl"
	"ptools/pctl/sample"
)

func openSampler(t *testing.T, o *sample.SamplerOptions) *sample.Sampler {
	t.Helper()
	s, err := sample.Open(o)
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := s.Stats().Sampled; n != 0 {
			t.Errorf("%d processes are still sampled", n)
		}
	})
	return s
}

// used is the processor time of a process, to 10 ms.
func used(t *testing.T, pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Error(err)
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// TestOverlapping: windows of one process that overlap have what was used in each, by timers and by stops.
func TestOverlapping(t *testing.T) {
	t.Parallel()
	pid, stop := startSpinning()
	defer stop()
	for _, timers := range []sample.Timers{sample.TimersOnly, sample.TimersOff} {
		for _, what := range []sample.What{sample.CPU, sample.Wall} {
			s := openSampler(t, &sample.SamplerOptions{Period: time.Second / 499, Timers: timers})
			var clients sync.WaitGroup
			for i := range 8 {
				clients.Go(func() {
					time.Sleep(time.Duration(i) * 20 * time.Millisecond)
					d := time.Duration(100+ptest.Rounds(30, 50, 50)*i) * time.Millisecond
					begun := used(t, pid)
					w, err := s.Begin(bg, pid, what)
					if err != nil {
						t.Error(err)
						return
					}
					before := used(t, pid)
					time.Sleep(d)
					after := used(t, pid)
					p, err := w.End()
					if err != nil {
						t.Error(err)
						return
					}
					cpu, least, most := p.Total().CPU, after-before, used(t, pid)-begun
					if cpu > most+30*time.Millisecond || cpu < least-30*time.Millisecond || p.Duration() < d {
						t.Errorf("timers %d, what %d: %v in %v, of %v to %v", timers, what, cpu, p.Duration(), least, most)
					}
					// On a busy machine it may have run for a few samples only, which give no shares, and the runtime's sysmon, which
					// sleeps and wakes, has up to a third of what it runs.
					functions := p.Functions()
					known := functions[0].Self.CPU
					for _, f := range functions[1:] {
						if f.Name == "runtime.usleep" {
							known += f.Self.CPU
						}
					}
					if cpu > 100*time.Millisecond && (functions[0].Name != "ptools/pctl/sample_test.spin" || known < cpu*8/10) {
						t.Errorf("timers %d, what %d: %+v", timers, what, functions)
					}
				})
			}
			clients.Wait()
			if n := s.Stats(); n.Sampled != 0 || n.Samples == 0 {
				t.Errorf("%+v", n)
			}
		}
	}
}

// TestIdleWindow: a process that sleeps is not opened, and has what it has used, to the nanosecond.
func TestIdleWindow(t *testing.T) {
	g := ptest.Start(t, "sleep", "60")
	s := openSampler(t, &sample.SamplerOptions{Timers: sample.TimersOnly})
	time.Sleep(50 * time.Millisecond) // it sleeps
	p, err := s.Take(bg, g.PID, sample.CPU, 50*time.Millisecond)
	if err != nil || p.Total().CPU != 0 {
		t.Errorf("%v, %v", p.Total(), err)
	}
	p, err = s.Take(bg, g.PID, sample.Wall, 100*time.Millisecond)
	if err != nil || p.Duration() < 100*time.Millisecond || p.Total().Wall != p.Duration() {
		t.Errorf("%v in %v, %v", p.Total(), p.Duration(), err)
	}
}

// TestEndedInWindow: what a process has done until its end is in the profile, and a number that no process has is refused.
func TestEndedInWindow(t *testing.T) {
	t.Parallel()
	for _, timers := range []sample.Timers{sample.TimersOnly, sample.TimersOff} {
		pid, stop := startSpinning()
		s := openSampler(t, &sample.SamplerOptions{Timers: timers})
		w, err := s.Begin(bg, pid, sample.CPU)
		if err != nil {
			t.Fatal(err)
		}
		// What came since the last reading is lost, and that may be late on a busy machine.
		for before := used(t, pid); used(t, pid) < before+600*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		}
		stop()
		p, err := w.End()
		if err != nil || p.Total().CPU < 100*time.Millisecond || p.Total().Samples == 0 {
			t.Errorf("%v, %v", p.Total(), err)
		}
		if _, err := w.End(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("closed window: %v", err)
		}
		if _, err := s.Begin(bg, pid, sample.CPU); !errors.Is(err, pctl.ErrNoProcess) {
			t.Errorf("ended process: %v", err)
		}
	}
}

// TestNext: windows that follow each other do not overlap and have no gap, even if a client is late to end one. Together
// they have the processor time that was used. When the process has ended there is no next window, and the last one has
// what was seen.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, timers := range []sample.Timers{sample.TimersOnly, sample.TimersOff} {
		for _, what := range []sample.What{sample.CPU, sample.Wall} {
			pid, stop := startSpinning()
			defer stop()
			s := openSampler(t, &sample.SamplerOptions{Timers: timers})
			begun := used(t, pid)
			w, err := s.Begin(bg, pid, what)
			if err != nil {
				t.Fatal(err)
			}
			before := used(t, pid)
			var end time.Time
			var sum, least time.Duration // what came since the last reading before the process has ended may be lost
			take := func(w *sample.Window) {
				p, err := w.End()
				if err != nil {
					t.Fatal(err)
				}
				if gap := p.Start().Sub(end); !end.IsZero() && gap != 0 {
					t.Errorf("timers %d, what %d: %v between two", timers, what, gap)
				}
				end = p.Start().Add(p.Duration())
				sum += p.Total().CPU
			}
			for range ptest.Rounds(3, 5, 5) {
				time.Sleep(50 * time.Millisecond)
				least = used(t, pid) - before
				next, err := w.Next(bg)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(50 * time.Millisecond) // of the next
				take(w)
				w = next
			}
			syscall.Kill(pid, syscall.SIGSTOP)
			most := used(t, pid) - begun
			stop()
			next, err := w.Next(bg)
			for ; err == nil; next, err = w.Next(bg) { // the sampler has not seen the end yet
				take(w)
				w = next
			}
			if !errors.Is(err, pctl.ErrNoProcess) {
				t.Errorf("timers %d, what %d: a window of a process that has ended: %v", timers, what, err)
			}
			take(w)
			if sum > most+60*time.Millisecond || sum < least-30*time.Millisecond {
				t.Errorf("timers %d, what %d: %v of %v to %v", timers, what, sum, least, most)
			}
		}
	}
}

// TestBriefInWindow: a process that slept when its window began, then worked and ended at once, has its processor time,
// whether or not its image could be opened. Without a reading at the end the time is that of the ticks. On a busy machine
// they meet the process by chance, so their number may be off by its square root.
func TestBriefInWindow(t *testing.T) {
	t.Parallel()
	const period = time.Second / 499
	s := openSampler(t, &sample.SamplerOptions{Period: period, Timers: sample.TimersOnly})
	for range ptest.Rounds(3, 5, 5) {
		g := ptest.Start(t, "sh", "-c", "read x; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
		g.WaitState("S")
		w, err := s.Begin(bg, g.PID, sample.CPU)
		if err != nil {
			t.Fatal(err)
		}
		g.Stdin.Close()
		state := g.Wait()
		p, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		used := state.UserTime() + state.SystemTime()
		off := p.Total().CPU - used
		if chance := time.Duration(math.Sqrt(float64(used) * float64(period))); off.Abs() > 4*chance+10*time.Millisecond {
			t.Errorf("%v of %v", p.Total().CPU, used)
		}
	}
}

// TestComeAndGo: processes that came and went leave no descriptor and no memory behind.
func TestComeAndGo(t *testing.T) {
	mix := ptest.BuildC(t, "mix.c")
	s := openSampler(t, nil)
	descriptors := func() (files []string) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			file, _ := os.Readlink("/proc/self/fd/" + e.Name())
			files = append(files, file)
		}
		return files
	}
	round := func(what sample.What) {
		cmd := exec.Command(mix, "-n", "30")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if w, err := s.Begin(bg, cmd.Process.Pid, what); err == nil { // or it has ended
			cmd.Wait()
			if _, err := w.End(); err != nil {
				t.Error(err)
			}
		}
		cmd.Wait()
	}
	// Files that all of them map stay open.
	g := ptest.Start(t, mix, "-n", "100000")
	for _, what := range []sample.What{sample.CPU, sample.Wall} {
		if p, err := s.Take(bg, g.PID, what, time.Duration(ptest.Rounds(300, 1000, 1000))*time.Millisecond); err != nil || p.Total().Samples == 0 {
			t.Fatalf("%v, %v", p, err)
		}
		round(what)
	}
	g.Kill()
	g.Wait()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := descriptors()
	rounds := ptest.Rounds(20, 60, 1000)
	for i := range rounds {
		round([]sample.What{sample.CPU, sample.CPU, sample.CPU, sample.Wall}[i%4])
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// Those of a process that has ended while its window was begun are closed in the sampler's next round.
	for late := time.Now().Add(10 * time.Second); len(descriptors())-len(begun) > 2; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("descriptors (-before +after):\n%s", cmp.Diff(begun, descriptors()))
		}
	}
	if more := int64(after.HeapAlloc) - int64(before.HeapAlloc); more > 4<<20 {
		t.Errorf("%d KiB more of heap", more>>10)
	}
	t.Logf("%d processes: heap %d KiB, then %d", rounds, before.HeapAlloc>>10, after.HeapAlloc>>10)
}

// TestExecStorm: a process that executes itself all the time has its processor time in the profile. Its programs live for
// a millisecond. Only by chance is one of them still there, and gets names, when a sample of it is read.
func TestExecStorm(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "execstorm.c"), "-n", "1000000")
	s := openSampler(t, &sample.SamplerOptions{Period: time.Second / 999})
	before := used(t, g.PID)
	p, err := s.Take(bg, g.PID, sample.CPU, time.Duration(ptest.Rounds(1500, 3000, 3000))*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	kernel, total := used(t, g.PID)-before, p.Total()
	if total.Samples < 100 || len(p.Functions()) == 0 || total.CPU > kernel+20*time.Millisecond || total.CPU < kernel*3/4 {
		t.Errorf("%v, %d functions; the kernel says %v", total, len(p.Functions()), kernel)
	}
}

// TestStacksShared: requests for stacks again and again do not stop the process all the time.
func TestStacksShared(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000")
	s := openSampler(t, nil)
	begun := time.Now()
	for range 1000 {
		if stacks, err := s.Stacks(bg, g.PID); err != nil || stacks.Len() != 1 {
			t.Fatalf("%v, %v", stacks, err)
		}
	}
	if n, most := s.Stats().Stops, 1+int64(time.Since(begun)/(100*time.Millisecond)); n == 0 || n > most {
		t.Errorf("%d stops in %v", n, time.Since(begun))
	}
}
