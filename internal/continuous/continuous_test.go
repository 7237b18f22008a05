package continuous

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"ptools/internal/ptest"
	"ptools/pctl/push"
	"ptools/pctl/sample"
	"ptools/pctl/targets"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// store keeps what is pushed to it, by pid.
type store struct {
	t  *testing.T
	mu sync.Mutex
	by map[string][]*profile.Profile
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Series []struct {
			Labels  []struct{ Name, Value string }
			Samples []struct{ RawProfile []byte }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		s.t.Error(err)
		return
	}
	for _, series := range request.Series {
		p, err := profile.ParseData(series.Samples[0].RawProfile)
		if err != nil {
			s.t.Error(err)
			continue
		}
		for _, l := range series.Labels {
			if l.Name == "pid" {
				s.mu.Lock()
				s.by[l.Value] = append(s.by[l.Value], p)
				s.mu.Unlock()
			}
		}
	}
	io.WriteString(w, "{}")
}

// await waits until there are n profiles of a process.
func (s *store) await(pid, n int) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		have := len(s.by[strconv.Itoa(pid)])
		s.mu.Unlock()
		if have >= n {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d profiles of process %d, want %d", have, pid, n)
		}
	}
}

// used returns the processor time of a process, to 10 ms.
func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// TestContinuous: the profiles of a process follow each other without a gap, and together have its processor time. An
// idle process has no profile. The last profile of a process has what it did until its end.
func TestContinuous(t *testing.T) {
	for name, timers := range map[string]sample.Timers{"timers": sample.TimersOnly, "stops": sample.TimersOff} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			continuously(t, timers)
		})
	}
}

func continuously(t *testing.T, timers sample.Timers) {
	busy := ptest.Start(t, "sh", "-c", "while :; do :; done")
	brief := ptest.Start(t, "sh", "-c", "while :; do :; done")
	idle := ptest.Start(t, "sleep", "60")
	idle.WaitState("S") // it uses no more processor time from here
	sampler, err := sample.Open(&sample.SamplerOptions{Timers: timers})
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer sampler.Close()
	s := &store{t: t, by: make(map[string][]*profile.Profile)}
	server := httptest.NewServer(s)
	defer server.Close()
	pusher, err := push.New(push.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := targets.NewWatcher([]targets.Rule{{PID: busy.PID}, {PID: brief.PID}, {PID: idle.PID}})
	if err != nil {
		t.Fatal(err)
	}
	l := &Loop{
		Sampler: sampler, Targets: watcher, Pusher: pusher, Interval: time.Duration(ptest.Rounds(300, 500, 500)) * time.Millisecond,
		Failed: func(g *targets.Target, err error) { t.Errorf("process %d: %v", g.PID, err) },
	}
	ctx, cancel := context.WithCancel(t.Context())
	before := used(t, busy.PID)
	var running sync.WaitGroup
	running.Go(func() { watcher.Run(ctx) })
	running.Go(func() { l.Run(ctx) })
	defer running.Wait() // before the sampler is closed, which waits for windows
	defer cancel()
	s.await(busy.PID, 1) // its second window is open
	inner := used(t, busy.PID)
	s.await(brief.PID, 1)
	for before := used(t, brief.PID); used(t, brief.PID) < before+150*time.Millisecond; time.Sleep(10 * time.Millisecond) {
	}
	brief.Kill() // nothing would be known of a process that ends before it is looked at
	s.await(brief.PID, 2)
	s.await(busy.PID, 4)
	least := used(t, busy.PID) - inner
	cancel()
	running.Wait()
	most := used(t, busy.PID) - before
	pusher.Close(context.Background())

	check(t, s.by[strconv.Itoa(busy.PID)], least, most)
	if n := len(s.by[strconv.Itoa(idle.PID)]); n != 0 && timers == sample.TimersOnly {
		t.Errorf("%d profiles of an idle process", n)
	}
	if l.Unprepared() != 0 || l.Unsampled() != 0 {
		t.Errorf("%d profiles could not be encoded, %d targets not sampled", l.Unprepared(), l.Unsampled())
	}
	if n := sampler.Stats().Sampled; n != 0 {
		t.Errorf("%d processes are still sampled", n)
	}
}

// check checks that list has no gap, and that its sum is the processor time that was used: at most from the beginning,
// at least from the second profile on.
func check(t *testing.T, list []*profile.Profile, least, most time.Duration) {
	t.Helper()
	slices.SortFunc(list, func(a, b *profile.Profile) int { return int(a.TimeNanos - b.TimeNanos) })
	var cpu, later time.Duration
	for i, p := range list {
		for _, s := range p.Sample {
			cpu += time.Duration(s.Value[1])
		}
		if i == 0 {
			later = -cpu
			continue
		}
		if gap := time.Duration(p.TimeNanos - list[i-1].TimeNanos - list[i-1].DurationNanos); gap.Abs() > time.Millisecond {
			t.Errorf("%v between profiles %d and %d", gap, i-1, i)
		}
	}
	if later += cpu; later < least-least/10-50*time.Millisecond || cpu > most+most/10+50*time.Millisecond {
		t.Errorf("the profiles have %v, without the first %v, of %v to %v", cpu, later, least, most)
	}
}
