package control

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

const panickerEnv = "PTOOLS_TEST_PANIC"

// TestPanickingHandler: the traps leave the text and the target is released before the
// panic of a handler continues and ends the program.
func TestPanickingHandler(t *testing.T) {
	if pid := os.Getenv(panickerEnv); pid != "" {
		panicker(pid)
	}
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, ptest.BuildC(t, "calls.c"), "-t", "4", "-f", "push")
	g.Ready()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanickingHandler$")
	cmd.Env = append(os.Environ(), panickerEnv+"="+strconv.Itoa(g.PID))
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: the handler has had enough") {
		t.Errorf("the program ended with %v and printed\n%s", err, out)
	}
	if p := g.TracerPID(); p != 0 {
		t.Errorf("still traced by %d", p)
	}
	g.AwaitWork(1000)
	ptest.TextIntact(t, g.PID)
}

func panicker(pid string) {
	n, _ := strconv.Atoi(pid)
	c, err := Attach(bg, n, nil)
	if err != nil {
		panic(err)
	}
	hits := 0
	_, err = c.BreakSymbol(bg, "", "f_push", 0, func(*Hit) {
		if hits++; hits == 100 {
			panic("the handler has had enough")
		}
	})
	if err != nil {
		panic(err)
	}
	<-c.Done()
	select {} // the panic ends the program
}

// TestOwnChild: the exit status of a child of this program is left for the call that waits
// for that child.
func TestOwnChild(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "leaderdead.c"), "-t", "3")
	g.Ready()
	c, err := Attach(bg, g.PID, nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Stdin.Close()
	<-c.Done()
	c.Space().Close()
	if _, state := g.Finish(); !state.Success() {
		t.Errorf("ended with %v", state)
	}
}
