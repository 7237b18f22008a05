package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// storms are programs that make processes all the time, with functions that parents and children call.
var storms = []struct {
	source string
	rounds int // children of each thread
	breaks []string
	exact  map[string]func(children uint64) uint64 // hits, as far as the program prints them
}{
	{"forkstorm.c -t 3", 100, []string{"in_child", "fork", "_exit"}, map[string]func(uint64) uint64{
		"in_child": func(n uint64) uint64 { return n / 4 * 2 },
		"fork":     func(n uint64) uint64 { return n + n/4 },
	}},
	{"vforkstorm.c -t 3", 100, []string{"vfork", "_exit", "write"}, nil},
	{"spawnstorm.c -t 3", 100, []string{"posix_spawn", "_exit"}, nil},
	{"execstorm.c -t 2", 50, []string{"main", "execv"}, nil},
}

// TestFollowStorms: storms of processes end under pgrab --follow as they do alone, and each hit in each process counts.
func TestFollowStorms(t *testing.T) {
	for _, storm := range storms {
		argv := strings.Fields(storm.source)
		argv[0] = ptest.BuildC(t, argv[0])
		rounds := ptest.Rounds(storm.rounds/5, storm.rounds/2, 20*storm.rounds) / 4 * 4
		argv = append(argv, "-n", strconv.Itoa(rounds))
		alone, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, trap := range []string{"int3", "uprobe"} {
			t.Run(trap+" "+storm.source, func(t *testing.T) {
				if trap == "uprobe" {
					uprobe.Need(t)
				}
				args := []string{"--follow", "--trap", trap, "-e", "run", "-s", "none", "-q", "--json"}
				for _, b := range storm.breaks {
					args = append(args, "-b", b)
				}
				r := pgrab(t, nil, append(append(args, "--"), argv...)...)
				said, sums := split(t, r.stdout)
				if r.status != 0 || said != string(alone) {
					t.Errorf("exit status %d, printed %q, alone %q", r.status, said, alone)
				}
				var children uint64
				fmt.Sscanf(strings.TrimPrefix(said, "ready\n"), "done %d", &children)
				for where, want := range storm.exact {
					if sums[where] != want(children) {
						t.Errorf("%d hits of %s, want %d", sums[where], where, want(children))
					}
				}
			})
		}
	}
}

// split separates the objects of the final sums from the other output of a command and pgrab.
func split(t *testing.T, out string) (said string, sums map[string]uint64) {
	t.Helper()
	sums = map[string]uint64{}
	for line := range strings.Lines(out) {
		if line[0] != '{' {
			said += line
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		if o.Event == "breakpoint" && o.PID == 0 {
			sums[o.Where] = *o.Hits
		}
	}
	return said, sums
}

// TestFollowKilled: with uprobes all processes of a tree survive the SIGKILL of pgrab, at whatever moment it comes. They
// are no longer traced, and have their own text.
func TestFollowKilled(t *testing.T) {
	uprobe.Need(t)
	for _, storm := range storms {
		t.Run(storm.source, func(t *testing.T) {
			t.Parallel()
			random := ptest.Rand(t)
			argv := strings.Fields(storm.source)
			start := program(argv[0], append(argv[1:], "-n", strconv.Itoa(ptest.Rounds(1, 3, 3)*storm.rounds))...)
			out, state := start(t).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v, %s", state, out)
			}
			kills := ptest.Rounds(1, 4, 100)
			for done := 0; done < kills; {
				g := start(t)
				for ; done < kills && living(g) > 0; done++ {
					killTreeAt(t, random, g, storm.breaks, "uprobe")
					g.WaitFor("its own text", func() bool { return !ptest.HasTraps(g.PID) })
				}
				if said, state := g.Finish(); !state.Success() || said != out {
					t.Fatalf("after %d kills: %v, printed\n%swant\n%s", done, state, said, out)
				}
			}
		})
	}
}

// TestFollowKilledInt3: with int3s, each process of a tree has its own text after the SIGKILL of pgrab, also one that was
// being born. None is traced or stopped. A thread that has hit an int3 whose stop was not handled is lost, as in
// TestGuarded. So the test counts how many trees end as they do alone.
func TestFollowKilledInt3(t *testing.T) {
	for _, storm := range storms {
		t.Run(storm.source, func(t *testing.T) {
			t.Parallel()
			random := ptest.Rand(t)
			argv := strings.Fields(storm.source)
			start := program(argv[0], argv[1:]...)
			kills, ends := ptest.Rounds(2, 6, 200), map[string]int{}
			for range kills {
				g := start(t)
				g.Ready()
				killTreeAt(t, random, g, storm.breaks, "int3")
				g.WaitFor("a tree on its own", func() bool { return !ptest.HasTraps(g.PID) && !slices.ContainsFunc(treeOf(g.PID), bound) })
				_, state := g.Finish()
				ends[state.String()]++
				if s := state.Sys().(syscall.WaitStatus); s.Signaled() && s.Signal() != syscall.SIGTRAP || s.Exited() && s.ExitStatus() != 0 && s.ExitStatus() != 3 {
					t.Errorf("the target was damaged: %v", state)
				}
			}
			t.Logf("%d trees: %v", kills, ends)
		})
	}
}

// treeOf returns a process and its descendants.
func treeOf(pid int) []int {
	all := []int{pid}
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		children, _ := procfs.Children(pid, tid)
		for _, child := range children {
			all = append(all, treeOf(child)...)
		}
	}
	return all
}

// bound reports whether a process stands still, has a tracer, or has traps in its text.
func bound(pid int) bool {
	st, err := procfs.ReadStatus(pid)
	return err == nil && (st.TracerPID != 0 || st.State == 't' || st.State == 'T' || ptest.HasTraps(pid))
}

// killTreeAt kills a pgrab --follow while it attaches, follows, or lets go.
func killTreeAt(t *testing.T, random *rand.Rand, g *ptest.Target, breaks []string, trap string) {
	t.Helper()
	args := []string{"--follow", "--trap", trap, "-q", "-s", "none", "-p", strconv.Itoa(g.PID)}
	for _, b := range breaks {
		args = append(args, "-b", b)
	}
	after := time.Duration(random.Int64N(int64(300 * time.Millisecond)))
	switch random.IntN(3) {
	case 0: // only counts
	case 1: // stops at each hit
		args = append(args, "-w")
	case 2: // lets go at about that time
		args = append(args, "-t", after.String())
	}
	p := startPgrab(t, args...)
	ptest.Await(time.Now().Add(after)) // the test is that it comes at any moment
	p.Kill()
	p.Finish()
}

// TestFollowLetsGo: a tree that is let go in the middle of a storm runs on as alone, again and again.
func TestFollowLetsGo(t *testing.T) {
	for _, storm := range storms {
		for _, trap := range ptest.Some(t, []string{"int3", "auto"}, ptest.Rounds(1, 2, 2)) {
			t.Run(trap+" "+storm.source, func(t *testing.T) {
				t.Parallel()
				argv := strings.Fields(storm.source)
				start := program(argv[0], append(argv[1:], "-n", strconv.Itoa(ptest.Rounds(1, 3, 3)*storm.rounds))...)
				out, state := start(t).Finish()
				if !state.Success() {
					t.Fatalf("alone: %v, %s", state, out)
				}
				visits := ptest.Rounds(1, 4, 60)
				for done := 0; done < visits; {
					g := start(t)
					for ; done < visits && living(g) > 0; done++ {
						args := []string{"--follow", "--trap", trap, "-q", "-s", "none", "-t", "50ms", "-p", strconv.Itoa(g.PID)}
						for _, b := range storm.breaks {
							args = append(args, "-b", b)
						}
						if r := pgrab(t, nil, args...); strings.Contains(r.stderr, "panic") {
							t.Fatal(r.stderr)
						}
					}
					if said, state := g.Finish(); !state.Success() || said != out {
						t.Fatalf("after %d visits: %v, printed\n%swant\n%s", done, state, said, out)
					}
				}
			})
		}
	}
}
