package pctl

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// A helper that is killed: it follows a process with an int3 in it, and its control goroutine never comes back from the first hit.
var _ = ptest.Helper("busy handler", func() {
	Guard()
	pid, _ := strconv.Atoi(os.Args[1])
	p, err := NewSession(nil).Grab(context.Background(), pid, &GrabOptions{Trap: TrapInt3, Follow: &Follow{Begin: func(*Process) {}}})
	if err != nil {
		panic(err)
	}
	if _, err := p.Break(context.Background(), Where{Symbol: "hot"}, func(*Hit) {
		fmt.Println("hit")
		select {}
	}); err != nil {
		panic(err)
	}
	fmt.Println("planted")
	select {}
})

// TestKilledAtBirth: children whose fork control had not handled when it was killed run on with the text of their own
// program. So do their children.
func TestKilledAtBirth(t *testing.T) {
	const forks = 8
	exe := ptest.BuildC(t, "forkwhile.c")
	for _, more := range []string{"", "-g"} {
		t.Run("forkwhile "+more, func(t *testing.T) {
			ends := map[string]int{}
			rounds := ptest.Rounds(2, 10, 300)
			for range rounds {
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe, "-t", strconv.Itoa(forks), more)
				g.Ready()
				p := ptest.StartHelper(t, "busy handler", strconv.Itoa(g.PID))
				for line := p.Line(); line != "planted"; line = p.Line() {
				}
				g.Stdin.Write([]byte("h"))
				for line := p.Line(); line != "hit"; line = p.Line() {
				}
				g.Stdin.Write([]byte("f"))
				var born []int
				g.WaitFor("children that stand", func() bool {
					born = standing(g.PID)
					return len(born) == forks
				})
				p.Kill()
				p.Wait()
				said, state := g.Finish()
				ends[fmt.Sprintf("%v, %s", state, said)]++
			}
			if good := fmt.Sprintf("exit status 0, done %d\n", forks); ends[good] != rounds {
				t.Errorf("%d rounds: %v", rounds, ends)
			}
		})
	}
}

// standing returns the children of a process that are in a ptrace stop.
func standing(pid int) []int {
	var all []int
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		children, _ := procfs.Children(pid, tid)
		all = append(all, children...)
	}
	return slices.DeleteFunc(all, func(child int) bool {
		st, err := procfs.ReadStat(child)
		return err != nil || st.State != 't'
	})
}
