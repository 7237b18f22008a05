package pctl

import (
	"bufio"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptools/internal/ptest"
)

const bubbled = "PCTL_BUBBLE" // the environment of the process that has a bubble

// TestGoroutinesInBubble: goroutines in a bubble of testing/synctest are as the program's own trace has them, and none is said to sleep for the
// fifty years by which the bubble's clock differs.
func TestGoroutinesInBubble(t *testing.T) {
	if os.Getenv(bubbled) != "" {
		synctest.Test(t, bubble)
		return
	}
	target := ptest.StartWith(t, &ptest.Options{Env: []string{bubbled + "=1"}}, os.Args[0], "-test.run=^TestGoroutinesInBubble$")
	target.Until("ready")
	p := grab(t, session(t, nil), target.PID, &GrabOptions{ReadOnly: true})
	defer p.Close()
	all, own, inside := goroutinesOf(t, p), ownTrace(target), 0
	for id, g := range all {
		if g.Bubble == 0 || len(own[id]) > 0 && strings.Contains(own[id][0], "[running") { // that one writes the trace
			continue
		}
		inside++
		if got := strings.Split(strings.TrimSpace(string(g.AppendTrace(nil))), "\n"); !slices.Equal(got, own[id]) || g.Left != 0 {
			t.Errorf("sleeps for %v, read:\n%s\nthe program says:\n%s", g.Left, strings.Join(got, "\n"), strings.Join(own[id], "\n"))
		}
	}
	if inside < 4 {
		t.Errorf("%d goroutines are in a bubble", inside)
	}
}

func bubble(t *testing.T) {
	go time.Sleep(time.Hour)
	go func() { <-make(chan int) }()
	go func() {
		c := sync.NewCond(new(sync.Mutex))
		c.L.Lock()
		c.Wait()
	}()
	synctest.Wait()
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		pprof.Lookup("goroutine").WriteTo(os.Stdout, 2)
		fmt.Println("end")
	}
}
