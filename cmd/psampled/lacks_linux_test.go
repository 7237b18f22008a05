package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"ptools/internal/ptest"
)

// TestLacks: psampled says which file it may not read, and which debug information is not there, once each.
func TestLacks(t *testing.T) {
	t.Parallel()
	ptest.Need(t, "gcc")
	dir := t.TempDir()
	src := filepath.Join(dir, "split.c")
	if err := os.WriteFile(src, []byte("int main(void)\n{\n\tfor (volatile long n = 0;; n++)\n\t\t;\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "split")
	cmd := exec.Command("gcc", "-g", "-gsplit-dwarf", "-o", exe, src)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dwo, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
	if err != nil || len(dwo) != 1 {
		t.Fatalf("%q, %v", dwo, err)
	}
	if err := os.Remove(dwo[0]); err != nil {
		t.Fatal(err)
	}
	g := ptest.Start(t, exe)
	r := start(t, "-p", fmt.Sprint(g.PID), "-F", "499")
	r.profileUntil(`split: inlined functions are not shown: open .*(\.dwo): no such file`)
}

// profileUntil takes profiles until a line is said. One of a busy machine may have no sample.
func (r *running) profileUntil(line string) {
	said := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			if status, body := r.get("/debug/pprof/profile?seconds=0.3"); status != 200 {
				r.t.Errorf("%d %.200q", status, body)
				return
			}
			select {
			case <-said:
				return
			default:
			}
		}
	})
	r.await(line)
	close(said)
	asking.Wait()
}

// TestLacksFile: likewise a program that may not be read.
func TestLacksFile(t *testing.T) {
	t.Parallel()
	ptest.NeedUsers(t)
	ptest.Need(t, "setpriv")
	caps := setprivList([]string{"CAP_SYS_PTRACE"})
	if out, err := exec.Command("setpriv", "--inh-caps="+caps, "--ambient-caps="+caps, "true").CombinedOutput(); err != nil {
		t.Skipf("these capabilities cannot be given: %v, %s", err, out)
	}
	g := startPrivate(t)
	r := startConfined(t, caps, "-p", fmt.Sprint(g.PID))
	r.url = r.await(`served at (\S+)/$`)
	r.profileUntil(`(cannot be read: .*); only names that the process has in memory are known`)
}
