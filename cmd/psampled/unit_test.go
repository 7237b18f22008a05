package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ptools/internal/ptest"
)

// unitCapabilities returns the capabilities that the unit file gives psampled, in the form of setpriv(1).
func unitCapabilities(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../dist/psampled.service")
	if err != nil {
		t.Fatal(err)
	}
	given := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			given[key] = value
		}
	}
	list := given["AmbientCapabilities"]
	if list == "" || list != given["CapabilityBoundingSet"] {
		t.Fatalf("ambient capabilities %q, bounding set %q", list, given["CapabilityBoundingSet"])
	}
	return setprivList(strings.Fields(list))
}

// setprivList converts CAP_SYS_PTRACE … to setpriv's form: -all,+sys_ptrace,…
func setprivList(names []string) string {
	list := "-all"
	for _, name := range names {
		list += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
	}
	return list
}

// startConfined starts psampled as an ordinary user with these capabilities.
func startConfined(t *testing.T, capabilities string, args ...string) *running {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := ptest.Copy(t, exe) // not every user may enter the directory of go test
	link := filepath.Join(filepath.Dir(program), "psampled")
	if err := os.Rename(program, link); err != nil {
		t.Fatal(err)
	}
	argv := []string{"--reuid", "65532", "--regid", "65532", "--clear-groups", "--no-new-privs", "--inh-caps=" + capabilities,
		"--ambient-caps=" + capabilities, "--bounding-set=" + capabilities, link, "-l", "localhost:0"}
	return launch(t, exec.Command("setpriv", append(argv, args...)...))
}

// startPrivate starts a process of another user whose program no other may read.
func startPrivate(t *testing.T) *ptest.Target {
	t.Helper()
	program := ptest.Copy(t, ptest.BuildC(t, "mix.c"))
	if err := os.Chown(program, ptest.Nobody, ptest.Nobody); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	return ptest.Start(t, "setpriv", "--reuid", fmt.Sprint(ptest.Nobody), "--regid", fmt.Sprint(ptest.Nobody), "--clear-groups", program, "-n", "100000", "-u", "400")
}

// functions returns the functions in the profile of the only target. An answer lacks names that are not known in time: one of the next has them.
func (r *running) functions() (found map[string]bool) {
	r.t.Helper()
	for range 5 {
		status, body := r.get("/debug/pprof/profile?seconds=1")
		if status != 200 {
			r.t.Fatalf("%d %.200s", status, body)
		}
		p, err := profile.ParseData([]byte(body))
		if err != nil {
			r.t.Fatal(err)
		}
		found = make(map[string]bool)
		for _, f := range p.Function {
			found[f.Name] = true
		}
		if found["main"] {
			break
		}
		r.t.Logf("without main: %.3000s", p)
	}
	return found
}

// TestUnit: the capabilities of the unit file are enough for everything: timers, that stop no thread, and the names of a program that only its
// owner may read. With CAP_SYS_PTRACE alone it works by stops, and says so.
func TestUnit(t *testing.T) {
	t.Parallel()
	ptest.NeedUsers(t)
	ptest.Need(t, "setpriv")
	unit := unitCapabilities(t)
	if out, err := exec.Command("setpriv", "--inh-caps="+unit, "--ambient-caps="+unit, "true").CombinedOutput(); err != nil {
		t.Skipf("these capabilities cannot be given: %v, %s", err, out)
	}
	g := startPrivate(t)
	t.Run("unit", func(t *testing.T) {
		r := startConfined(t, unit, "-p", fmt.Sprint(g.PID))
		r.url = r.await(`served at (\S+)/$`)
		if f := r.functions(); !f["main"] {
			t.Errorf("functions %v", f)
		}
		if _, metrics := r.get("/metrics"); !strings.Contains(metrics, "psampled_timers 1\n") || !strings.Contains(metrics, "psampled_stops_total 0\n") {
			t.Error("threads are stopped")
		}
		if status, body := r.get("/debug/pprof/goroutine?debug=2"); status != 200 || !strings.Contains(body, "main") {
			t.Errorf("goroutine: %d %.200s", status, body)
		}
	})
	t.Run("CAP_SYS_PTRACE alone", func(t *testing.T) {
		r := startConfined(t, setprivList([]string{"CAP_SYS_PTRACE"}), "-p", fmt.Sprint(g.PID))
		r.await(`threads that run are stopped for each sample: (timers of the processors need .*)`)
		r.url = r.await(`served at (\S+)/$`)
		for range 20 { // on a loaded machine it may not run in a whole profile: then there is nothing to stop
			r.get("/debug/pprof/profile?seconds=1")
			_, metrics := r.get("/metrics")
			if !strings.Contains(metrics, "psampled_timers 0\n") {
				t.Fatal("timers sample")
			}
			if !strings.Contains(metrics, "psampled_stops_total 0\n") {
				return
			}
		}
		t.Error("no thread was stopped")
	})
}
