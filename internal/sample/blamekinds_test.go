package sample

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestBlameKinds: which locks show their holder, and why the others do not.
func TestBlameKinds(t *testing.T) {
	t.Parallel()
	for _, build := range []struct {
		name string
		path func() string
		musl bool
	}{
		{"glibc", func() string { return ptest.BuildC(t, "waits.c") }, false},
		{"static", func() string { return ptest.BuildC(t, "waits.c", "-static") }, false},
		{"musl", func() string { return ptest.BuildMusl(t, "waits.c") }, true},
	} {
		t.Run(build.name, func(t *testing.T) { testKinds(t, build.path(), build.musl) })
	}
}

func testKinds(t *testing.T, program string, musl bool) {
	held := func(kind string) string { return "^" + kind + ` \w+, waits:main, $` }
	want := map[string]string{
		"normal": held("mutex"), "recursive": held("mutex"), "checking": held("mutex"), "adaptive": held("mutex"),
		"robust": held("mutex"), "inheriting": held("mutex"), "hidden": held("mutex"), "again": held("mutex"),
		"reading": held("read-write lock"), "writing": held("read-write lock"),
		"reader":    "^read-write lock reader, , it is held to read, and keeps no readers$",
		"semaphore": "^semaphore semaphore, , semaphore$", "barrier": "^barrier barrier, , barrier$",
		"condition": "^condition variable condition, , condition variable$", "thread": `^thread \w*, , end of a thread$`,
	}
	if musl {
		for _, name := range []string{"normal", "adaptive", "hidden", "again"} {
			want[name] = `^mutex \w+, , a normal mutex of musl keeps none$`
		}
		for _, name := range []string{"reading", "writing", "reader"} {
			want[name] = `^read-write lock \w+, , a read-write lock of musl keeps none$`
		}
		want["inheriting"] = `^mutex inheriting, waits:main, $`
		want["thread"], want["condition"], want["barrier"] = ".", ".", "^barrier"
	}
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, program)
	g.Ready()
	compareWaits(t, waitsOf(t, g.PID, "main"), want)
}

// waitsOf samples a process whose threads all wait. It returns, by thread name, what a thread waits for, the thread and
// the function that hold it, if it is one of functions, or why no holder is known.
func waitsOf(t *testing.T, pid int, functions ...string) map[string]string {
	t.Helper()
	s := blameFor(t, TimersAuto, 500*time.Millisecond, pid, true)
	got := make(map[string]string)
	for _, b := range blames(t, s) {
		holder := ""
		if b.Holder != "" {
			i := slices.IndexFunc(b.stack, func(f string) bool { return slices.Contains(functions, f) })
			holder = b.Holder + ":" + append(b.stack, "?")[max(i, 0)]
			if b.Holds != nil {
				holder += " has " + b.Holds.Symbol
			}
		}
		got[b.thread] += fmt.Sprintf("%s %s, %s, %s", b.Lock.Kind, b.Lock.Symbol, holder, b.Unknown)
		if b.waits != 1 || b.time < 400*time.Millisecond {
			t.Errorf("%s: %d waits of %v in half a second", b.thread, b.waits, b.time)
		}
	}
	return got
}

// compareWaits compares what was seen with patterns.
func compareWaits(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, pattern := range want {
		if !regexp.MustCompile(pattern).MatchString(got[name]) {
			t.Errorf("%s: %q, want %s", name, got[name], pattern)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d threads wait: %q", len(got), got)
	}
}

// TestBlameLanguages: locks of C++ show their holder; those of Rust, Go and Python keep no owner.
func TestBlameLanguages(t *testing.T) {
	t.Parallel()
	cxx := func(args ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string { return append([]string{ptest.BuildC(t, "testdata/locks.cc")}, args...) }
	}
	const held = "^%s %s, locks:hold\\(\\), $"
	for _, tt := range []struct {
		name      string
		program   func(t *testing.T) []string
		functions []string
		want      map[string]string
	}{
		{"C++", cxx(), []string{"hold()"}, map[string]string{
			"plain": fmt.Sprintf(held, "mutex", "plain"), "recursive": fmt.Sprintf(held, "mutex", "recursive"), "timed": fmt.Sprintf(held, "mutex", "timed"),
			"unique": fmt.Sprintf(held, "read-write lock", "shared"), "shared": fmt.Sprintf(held, "read-write lock", "shared"),
			"read_held": "^read-write lock read_held, , it is held to read, and keeps no readers$",
			"condition": "^condition variable condition, , condition variable$",
		}},
		{"chain", cxx("chain"), []string{"hold_last()"}, map[string]string{
			"middle": "^mutex second, last:hold_last\\(\\), $", "waiter": "^mutex first, last:hold_last\\(\\) has second, $",
		}},
		{"deadlock", cxx("deadlock"), nil, map[string]string{
			"one": "^mutex second, two:.*, deadlock$", "two": "^mutex first, one:.*, deadlock$", "itself": "^mutex plain, itself:.*, deadlock$",
		}},
		{"owner ended", cxx("died"), nil, map[string]string{
			"normal": "^mutex normal, , owner has ended$", "robust": "^mutex robust, , owner has ended$",
		}},
		{"Rust", func(t *testing.T) []string { return []string{ptest.BuildRust(t, "testdata/locks.rs", "-O")} }, nil, map[string]string{
			"mutex": "^Rust mutex .*, , Rust mutex$", "rwlock": "^Rust read-write lock .*, , Rust read-write lock$",
			"condvar": "^Rust condition variable .*, , Rust condition variable$", "park": "^Rust thread::park .*, , Rust thread::park$",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			argv := tt.program(t)
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, argv...)
			g.Ready()
			compareWaits(t, waitsOf(t, g.PID, tt.functions...), tt.want)
		})
	}
}

// TestBlameNamespace: a process in another PID namespace has other numbers for its threads than we.
func TestBlameNamespace(t *testing.T) {
	t.Parallel()
	ptest.NeedNamespaces(t, "-pfm")
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "unshare", "-pf", "--mount-proc", "--kill-child", ptest.BuildC(t, "testdata/locks.cc"), "chain")
	g.Ready()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", g.PID, g.PID))
	if err != nil {
		t.Skipf("this kernel does not tell children: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	compareWaits(t, waitsOf(t, pid, "hold_last()"), map[string]string{
		"middle": "^mutex second, last:hold_last\\(\\), $", "waiter": "^mutex first, last:hold_last\\(\\) has second, $",
	})
}

// TestBlameGo: a thread of a Go program waits for its scheduler to give it work. No thread shows which goroutine has a
// lock, so none is blamed.
func TestBlameGo(t *testing.T) {
	t.Parallel()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildGo(t, "testdata/golocks.go"))
	g.Ready()
	s := blameFor(t, TimersAuto, 500*time.Millisecond, g.PID, true)
	want := map[string]bool{"mutex": true, "rwmutex": true, "channel": true}
	for _, b := range blames(t, s) {
		delete(want, b.thread)
		if b.Lock.Kind != "Go scheduler" || b.Unknown != "Go scheduler" || b.Holder != "" || b.Lock.Owned {
			t.Errorf("%+v", b)
		}
		if root := b.stack[len(b.stack)-1]; root != "[owner unknown (Go scheduler)]" {
			t.Errorf("the outermost level is %s", root)
		}
	}
	if len(want) != 0 {
		t.Errorf("%v wait for nothing", want)
	}
}
