package control

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// TestSharers: a process has shared the target's memory since before the attach, as its child or its parent.
// The process and its threads pass the int3s in that memory.
func TestSharers(t *testing.T) {
	needX86(t)
	for _, threads := range []int{0, 2} {
		for of, hitsOf := range map[string]int{"parent": 1, "child": 1 + threads} {
			t.Run(fmt.Sprint(of, threads), func(t *testing.T) {
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "sharedmemory.c"), "-t", strconv.Itoa(threads))
				pid, err := strconv.Atoi(g.Line())
				if err != nil {
					t.Fatal(err)
				}
				g.Ready()
				if of == "parent" {
					pid = g.PID
				}
				c := attach(t, pid, &Options{Trap: TrapInt3})
				hits := 0
				if _, err := c.BreakSymbol(bg, "", "shared", 0, func(*Hit) { hits++ }); err != nil {
					t.Fatal(err)
				}
				out, state := g.Finish()
				if !state.Success() {
					t.Errorf("it ends with %v, %q", state, out)
				}
				<-c.Done()
				if hits != hitsOf {
					t.Errorf("%d hits, want the target's %d", hits, hitsOf)
				}
			})
		}
	}
}

// TestStrangersShare is TestSharers with processes that are no relatives: a sibling, or a process whose parent
// has ended.
func TestStrangersShare(t *testing.T) { strangersShare(t) }

// TestStrangersShareWithoutKcmp is TestStrangersShare where kcmp(2) is denied, as in containers.
func TestStrangersShareWithoutKcmp(t *testing.T) {
	if ptest.Without(t, "kcmp") {
		strangersShare(t)
	}
}

func strangersShare(t *testing.T) {
	needX86(t)
	for args, calls := range map[string]int{
		"-k sibling -t 0": 2, "-k sibling -t 2": 4, "-k orphan -t 0": 2, "-k orphan -t 2": 4,
		"-k orphan -t 2 -l": 3, "-k child -t 2 -l": 3, // their leaders have ended
	} {
		t.Run(args, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, append([]string{ptest.BuildC(t, "sharedmemory.c")}, strings.Fields(args)...)...)
			g.Line()
			g.Ready()
			c := attach(t, g.PID, &Options{Trap: TrapInt3})
			hits := 0
			if _, err := c.BreakSymbol(bg, "", "shared", 0, func(*Hit) { hits++ }); err != nil {
				t.Fatal(err)
			}
			out, state := g.Finish()
			if out != fmt.Sprintf("done %d\n", calls) || !state.Success() {
				t.Errorf("it ends with %v, %q, want %d calls", state, out, calls)
			}
			<-c.Done()
			if hits != 1 {
				t.Errorf("%d hits, want the target's", hits)
			}
		})
	}
}

// TestSharerRefused: if a process that shares the memory cannot be traced, there is no int3 and no process is
// harmed.
func TestSharerRefused(t *testing.T) {
	needX86(t)
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "sharedmemory.c"), "-t", "2")
	pid, err := strconv.Atoi(g.Line())
	if err != nil {
		t.Fatal(err)
	}
	g.Ready()
	other := attach(t, pid, nil)
	c := attach(t, g.PID, &Options{Trap: TrapInt3})
	for range 2 {
		if _, err := c.BreakSymbol(bg, "", "shared", 0, func(*Hit) {}); !errors.Is(err, ErrShared) {
			t.Errorf("error %v", err)
		}
	}
	release(t, other, ModeRun)
	if _, err := c.BreakSymbol(bg, "", "shared", 0, func(*Hit) {}); err != nil {
		t.Error(err)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("it ends with %v, %q", state, out)
	}
}

// TestSharerAsleep: a parent that waits in vfork(2) for the target passes the int3s as well.
func TestSharerAsleep(t *testing.T) {
	needX86(t)
	for _, let := range []string{"go", "end"} {
		t.Run(let, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"), "-t", "2")
			g.Ready()
			var pid int
			for _, tid := range g.Threads() {
				if children, _ := procfs.Children(g.PID, tid); len(children) > 0 {
					pid = children[0]
				}
			}
			c := attach(t, pid, &Options{Trap: TrapInt3})
			hits := 0
			if _, err := c.BreakSymbol(bg, "", "_exit", 0, func(*Hit) { hits++ }); err != nil {
				t.Fatal(err)
			}
			if let == "go" {
				release(t, c, ModeRun)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
			<-c.Done()
			if want := map[string]int{"go": 0, "end": 1}[let]; hits != want {
				t.Errorf("%d hits, want %d", hits, want)
			}
		})
	}
}
