package hostile_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestDaemon: several attackers at once, each of which is profiled. An honest process beside them gets its profile in time,
// psampled knows that it works, and it ends when it is told to.
func TestDaemon(t *testing.T) {
	for _, timers := range ptest.Some(t, []string{"auto", "off"}, ptest.Rounds(1, 1, 2)) {
		t.Run(timers, func(t *testing.T) {
			s := besiege(t, timers, []string{"symbols", "gotab", "abbrev", "zstd", "ranges", "unserved spin", "unserved sleep", "unserved linkmap"})
			for range 3 {
				s.ask()
			}
			s.end(mostMemory)
		})
	}
}

// TestSiege: all attackers at once for ten minutes. Memory does not grow.
func TestSiege(t *testing.T) {
	if !ptest.Torture() {
		t.Skip("it takes ten minutes: make torture")
	}
	s := besiege(t, "auto", kinds())
	began, after := time.Now(), int64(0)
	for last := time.Now(); time.Since(began) < 10*time.Minute; {
		s.ask()
		if time.Since(last) > 20*time.Second {
			last = time.Now()
			t.Logf("after %v: %d MB, at most %d MB", time.Since(began).Round(time.Second), s.resident()>>20, ptest.Peak(t, s.cmd.Process.Pid)>>20)
		}
		if after == 0 && time.Since(began) > 5*time.Minute {
			after = ptest.Peak(t, s.cmd.Process.Pid)
		}
	}
	if peak := ptest.Peak(t, s.cmd.Process.Pid); peak > after+after/8 {
		t.Errorf("at most %d MB in five minutes, %d MB in ten", after>>20, peak>>20)
	}
	s.end(mostMemory)
}

// A siege is a psampled with attackers, which are profiled again and again, and an honest process.
type siege struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	honest *ptest.Target
	ended  chan error
	over   atomic.Bool
	askers sync.WaitGroup
	spent  map[string][]time.Duration // by honest answers, beyond the time that was asked for
	said   bytes.Buffer               // by psampled, to be read when the askers have ended
}

func besiege(t *testing.T, timers string, kinds []string) *siege {
	psampled, mix := build(t, "psampled"), ptest.BuildC(t, "mix.c") // before there are attackers, which spin
	var all []*ptest.Target
	for _, kind := range kinds {
		all = append(all, attacker(t, kind))
	}
	s := &siege{t: t, honest: ptest.Start(t, mix, "-n", "100000000"), ended: make(chan error, 1), spent: make(map[string][]time.Duration)}
	argv := []string{"-l", "localhost:0", "--timers", timers, "-p", fmt.Sprint(s.honest.PID)}
	for _, g := range all {
		argv = append(argv, "-p", fmt.Sprint(g.PID))
	}
	s.cmd = exec.Command(psampled, argv...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = w
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	ptest.Keep(t, s.cmd)
	go func() { s.ended <- s.cmd.Wait() }()
	s.url = served(t, r)
	s.askers.Go(func() { // ends with psampled
		io.Copy(&s.said, r)
		r.Close()
	})
	for _, g := range all {
		for _, kind := range []string{"profile", "wall"} {
			s.askers.Go(func() { // ends with psampled
				for !s.over.Load() {
					if status, _ := get(fmt.Sprintf("%s/targets/%d/debug/pprof/%s?seconds=1", s.url, g.PID, kind)); status != 200 {
						time.Sleep(100 * time.Millisecond) // it was told to ask again later
					}
				}
			})
		}
	}
	t.Cleanup(func() {
		s.over.Store(true)
		s.cmd.Process.Kill()
		s.askers.Wait()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// ask asks for the honest process, and whether psampled works.
func (s *siege) ask() {
	for _, page := range []struct {
		name, path string
		time       time.Duration
	}{
		{"profile", fmt.Sprintf("/targets/%d/debug/pprof/profile?seconds=1", s.honest.PID), time.Second},
		{"healthz", "/healthz", 0}, {"metrics", "/metrics", 0}, {"targets", "/targets", 0},
	} {
		began := time.Now()
		status, body := get(s.url + page.path)
		spent := time.Since(began)
		s.spent[page.name] = append(s.spent[page.name], spent-page.time)
		if status != 200 || len(body) == 0 || spent > mostTime {
			s.t.Errorf("%s: %d after %v: %.200s", page.path, status, spent, body)
		}
	}
}

// late logs how late honest answers were.
func (s *siege) late() {
	for page, spent := range s.spent {
		slices.Sort(spent)
		n := len(spent)
		intime, _ := slices.BinarySearch(spent, time.Second)
		s.t.Logf("%s: %d answers, late by %v in the middle, nine in ten up to %v, all up to %v, %d by more than a second", page, n, spent[n/2], spent[n*9/10], spent[n-1], n-intime)
	}
}

// resident returns how many bytes of psampled are in memory.
func (s *siege) resident() (n int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscan(string(b), new(int64), &n)
	}
	if err != nil {
		s.t.Error(err)
	}
	return n * int64(os.Getpagesize())
}

// end ends psampled, which may have had so many bytes.
func (s *siege) end(most int64) {
	memory := ptest.Peak(s.t, s.cmd.Process.Pid)
	s.over.Store(true)
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		s.late()
		s.t.Logf("ended after %v, %d MB at most", time.Since(began), memory>>20)
		if err != nil || memory > most {
			s.t.Errorf("%v, %d MB", err, memory>>20)
		}
	case <-time.After(mostTime):
		s.cmd.Process.Signal(syscall.SIGABRT) // it prints what its goroutines do
		<-s.ended
		s.askers.Wait()
		s.t.Errorf("psampled has not ended:\n%s", &s.said)
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
