package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// treeStorms are programs that make processes all the time, with the number that each thread makes.
var treeStorms = []struct {
	source string
	rounds int
}{
	{"forkstorm.c -t 3", 100}, {"vforkstorm.c -t 3", 100}, {"spawnstorm.c -t 3", 100}, {"execstorm.c -t 2", 50},
}

// TestFollowStorms: storms of processes that are sampled from their first instruction to their end print what they print alone,
// with timers and by stops.
func TestFollowStorms(t *testing.T) {
	for _, storm := range treeStorms {
		argv := stormOf(t, storm.source, ptest.Rounds(storm.rounds/5, storm.rounds/2, 40*storm.rounds)/4*4)
		alone, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, timers := range []string{"auto", "off"} {
			t.Run(timers+" "+storm.source, func(t *testing.T) {
				args := []string{"--follow", "--timers", timers, "-F", "999", "-q", "-o", filepath.Join(t.TempDir(), "profile.json"), "--"}
				cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), append(args, argv...)...)
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Run(); err != nil || out.String() != string(alone) || errs.Len() != 0 {
					t.Errorf("%v, printed %q, alone %q; standard error %q", err, &out, alone, &errs)
				}
			})
		}
	}
}

// TestFollowStormsInPassing: the same for storms that are grabbed in the middle and sampled for a moment. Then psample
// lets them go or is killed. No process is left traced or stopped.
func TestFollowStormsInPassing(t *testing.T) {
	random := ptest.Rand(t)
	for _, storm := range treeStorms {
		argv := stormOf(t, storm.source, ptest.Rounds(storm.rounds, 2*storm.rounds, 3*storm.rounds))
		out, state := ptest.Start(t, argv...).Finish()
		if !state.Success() {
			t.Fatalf("alone: %v, %s", state, out)
		}
		for _, timers := range []string{"auto", "off"} {
			t.Run(timers+" "+storm.source, func(t *testing.T) {
				start := func() *ptest.Target { return ptest.StartWith(t, &ptest.Options{Foreign: true}, argv...) }
				visits := ptest.Rounds(1, 4, 100)
				for done := 0; done < visits; {
					g := start()
					for ; done < visits && runs(g.PID); done++ {
						passBy(t, random, g.PID, timers)
						g.WaitFor("a tree on its own", func() bool { return !slices.ContainsFunc(treeAt(g.PID), bound) })
					}
					if said, state := g.Finish(); !state.Success() || said != out {
						t.Fatalf("after %d visits: %v, printed\n%swant\n%s", done, state, said, out)
					}
				}
			})
		}
	}
}

// stormOf is the command line of a storm of n children a thread.
func stormOf(t *testing.T, source string, n int) []string {
	t.Helper()
	argv := strings.Fields(source)
	argv[0] = ptest.BuildC(t, argv[0])
	return append(argv, "-n", strconv.Itoa(n))
}

// passBy samples a tree for a moment. By turns psample ends by itself, by a signal that asks it to end, or by SIGKILL.
func passBy(t *testing.T, random *rand.Rand, pid int, timers string) {
	t.Helper()
	after := time.Duration(random.Int64N(int64(300 * time.Millisecond)))
	args := []string{"--follow", "--timers", timers, "-F", "999", "-q", "-o", filepath.Join(t.TempDir(), "profile.json"), "-p", fmt.Sprint(pid)}
	signal := []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL}[random.IntN(3)]
	if signal == 0 {
		args = append(args, "-t", after.String())
	}
	p := ptest.Start(t, append([]string{filepath.Join(psampleDir(t), "psample")}, args...)...)
	if signal != 0 {
		ptest.Await(time.Now().Add(after)) // the test is that it comes at any moment
		syscall.Kill(p.PID, signal)
	}
	p.Finish()
}

// runs reports whether a process has not ended.
func runs(pid int) bool {
	st, err := procfs.ReadStat(pid)
	return err == nil && st.State != 'Z' && st.State != 'X'
}

// treeAt returns a process and its descendants.
func treeAt(pid int) []int {
	all := []int{pid}
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		children, _ := procfs.Children(pid, tid)
		for _, child := range children {
			all = append(all, treeAt(child)...)
		}
	}
	return all
}

// bound reports whether a process is stopped or has a tracer.
func bound(pid int) bool {
	st, err := procfs.ReadStatus(pid)
	return err == nil && (st.TracerPID != 0 || st.State == 't' || st.State == 'T')
}
