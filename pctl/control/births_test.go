package control

import (
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestBirths: a new process passes the int3s of its creator, whatever system call has made it, and
// whether it has a copy of the memory or shares it. It does so also where the leader has ended.
func TestBirths(t *testing.T) { births(t) }

// TestBirthsWithoutKcmp is TestBirths where kcmp(2) is denied, as in containers.
func TestBirthsWithoutKcmp(t *testing.T) {
	if ptest.Without(t, "kcmp") {
		births(t)
	}
}

func births(t *testing.T) {
	needX86(t)
	rounds := ptest.Rounds(10, 30, 300)
	for _, args := range []string{"-t 3", "-t 3 -l"} {
		t.Run(args, func(t *testing.T) {
			argv := append(strings.Fields(args), "-n", strconv.Itoa(rounds))
			c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: TrapInt3}, append([]string{ptest.BuildC(t, "births.c")}, argv...)...)
			if _, err := c.BreakSymbol(bg, "", "in_child", 0, func(*Hit) {}); err != nil {
				t.Fatal(err)
			}
			end := c.Bus().Subscribe()
			defer end.Close()
			if err := c.Continue(bg); err != nil {
				t.Fatal(err)
			}
			<-c.Done()
			if e := await(t, end); e.Kind != notify.Undead || !e.Exited || e.Code != 0 {
				t.Errorf("ended: %+v", e)
			}
			if got, want := <-out, "ready\ndone "+strconv.Itoa(3*3*rounds)+"\n"; got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
		})
	}
}
