package targets

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"ptools/internal/ptest"
)

func watch(t *testing.T, rules ...Rule) *Watcher {
	t.Helper()
	w, err := NewWatcher(rules)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func pids(w *Watcher) (list []int) {
	for _, t := range w.Targets() {
		list = append(list, t.PID)
	}
	return list
}

// awaits reads for up to a second until the targets are those wanted: finding one may take that long.
func awaits(t *testing.T, w *Watcher, what string, want ...int) {
	t.Helper()
	slices.Sort(want)
	ctx, cancel := context.WithCancel(context.Background())
	running := make(chan struct{})
	go func() { defer close(running); w.Run(ctx) }() // ended below
	defer func() { cancel(); <-running }()
	for deadline := time.Now().Add(2 * time.Second); !slices.Equal(pids(w), want); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: targets are %v, want %v", what, pids(w), want)
		}
	}
}

// TestWatcher: a process is found by what it has executed, also if it was forked before, and is gone when it has ended.
func TestWatcher(t *testing.T) {
	t.Parallel()
	sleeper := ptest.Copy(t, "/bin/sleep")
	w := watch(t, Rule{Exe: sleeper})
	awaits(t, w, "before")
	g := ptest.Start(t, "sh", "-c", `echo ready; read x; exec "$0" 600`, sleeper)
	g.Ready()
	awaits(t, w, "before exec")
	g.Stdin.Write([]byte("\n"))
	awaits(t, w, "after exec", g.PID)
	target := w.Targets()[0]
	if target.Exe != sleeper || w.Find(target.ID()) != target || !target.Alive() || target.UID != os.Getuid() || target.BuildID() == "" {
		t.Errorf("%+v, build id %q", target, target.BuildID())
	}
	labels := target.Labels()
	if labels["pid"] != fmt.Sprint(g.PID) || labels["exe"] != sleeper || labels["build_id"] != target.BuildID() {
		t.Errorf("%v", labels)
	}
	g.Kill()
	g.Wait()
	awaits(t, w, "after the end")
	if target.Alive() || w.Find(target.ID()) != nil {
		t.Error("it lives on")
	}
}

// TestLeaderDead: a process whose first thread has ended is a target as long as others live.
func TestLeaderDead(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "leaderdead.c"))
	g.Ready()
	w := watch(t, Rule{PID: g.PID})
	if got := w.Targets(); len(got) != 1 || !got[0].Alive() || got[0].Exe == "" {
		t.Fatalf("%+v", got)
	}
	w.Read()
	if got := pids(w); len(got) != 1 {
		t.Error("it is gone after a second reading")
	}
}

// TestFollow: descendants are targets with a rule that says so, also when their parent has ended and after other rules
// have been set.
func TestFollow(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, "sh", "-c", `sleep 600 & echo ready; read x`)
	g.Ready()
	w := watch(t, Rule{PID: g.PID})
	if got := pids(w); !slices.Equal(got, []int{g.PID}) {
		t.Fatalf("without: %v", got)
	}
	if err := w.SetRules([]Rule{{PID: g.PID, Follow: true}}); err != nil {
		t.Fatal(err)
	}
	got := pids(w)
	if len(got) != 2 || !slices.Contains(got, g.PID) {
		t.Fatalf("with: %v", got)
	}
	child := got[0]
	if child == g.PID {
		child = got[1]
	}
	defer func() {
		p, _ := os.FindProcess(child)
		p.Kill()
		awaits(t, w, "after both")
	}()
	g.Stdin.Write([]byte("\n"))
	g.Wait()
	awaits(t, w, "the child alone", child)
	if err := w.SetRules([]Rule{{PID: g.PID, Follow: true}, {Comm: "none-of-that"}}); err != nil {
		t.Fatal(err)
	}
	awaits(t, w, "other rules", child)
	if err := w.SetRules([]Rule{{}}); err == nil || !slices.Equal(pids(w), []int{child}) {
		t.Errorf("an empty rule: %v, %v", err, pids(w))
	}
}

// TestNumberAgain: a rule for a process does not apply to a later process with its number.
func TestNumberAgain(t *testing.T) {
	g := ptest.Start(t, "sleep", "600")
	w := watch(t, Rule{PID: g.PID})
	w.rules[0].start++ // as if it had been another
	w.known[g.PID].due = true
	w.Read()
	if got := pids(w); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestSelf: this program is no target, nor are the kernel's threads.
func TestSelf(t *testing.T) {
	for _, p := range watch(t, Rule{Comm: "*"}).Targets() {
		if p.PID == os.Getpid() || p.Parent == 2 || p.PID == 2 {
			t.Errorf("%+v", p)
		}
	}
}

// BenchmarkRead is what each half second costs: /proc with the processes that the machine has, none of them young.
func BenchmarkRead(b *testing.B) {
	w, err := NewWatcher([]Rule{{Comm: "none-of-that"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Read()
	}
	b.ReportMetric(float64(len(w.known)), "processes")
}

// TestAskedWhileReading: who asks for targets does not wait for a reading of /proc, which touches files and memory of strangers.
func TestAskedWhileReading(t *testing.T) {
	t.Parallel()
	w := watch(t, Rule{PID: os.Getpid()}, Rule{PID: ptest.Start(t, "sleep", "600").PID})
	w.mu.Lock() // as a reading does
	defer w.mu.Unlock()
	done := make(chan error)
	go func() {
		list := w.Targets()
		if len(list) != 1 || w.Find(list[0].ID()) != list[0] {
			done <- fmt.Errorf("targets are %v", list)
			return
		}
		done <- w.Err()
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("they wait")
	}
}
