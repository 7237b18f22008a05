package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// specimens are processes of many kinds. Each is ready when start returns.
var specimens = []struct {
	name  string
	start func(*testing.T) *ptest.Target
	state string // the states in which it may be left; "": "RS"
}{
	{"shell", func(t *testing.T) *ptest.Target {
		return saysReady(t, "sh", "-c", "echo ready; read x")
	}, ""},
	{"python3", func(t *testing.T) *ptest.Target {
		return saysReady(t, "python3", "-c", "print('ready', flush=True); import sys; sys.stdin.read()")
	}, ""},
	{"node", func(t *testing.T) *ptest.Target {
		return saysReady(t, "node", "-e", "console.log('ready'); process.stdin.on('data', () => {})")
	}, ""},
	{"go", func(t *testing.T) *ptest.Target {
		g := ptest.StartHelper(t, "idle")
		g.Ready()
		return g
	}, ""},
	{"static", func(t *testing.T) *ptest.Target {
		g := ptest.Start(t, ptest.BuildC(t, "spin.c", "-static"))
		g.Ready()
		return g
	}, ""},
	{"stopped", func(t *testing.T) *ptest.Target {
		g, _ := startSpin(t)
		g.Signal(syscall.SIGSTOP)
		g.WaitFor("its stop", g.Stopped)
		return g
	}, "T"},
	{"leader gone", func(t *testing.T) *ptest.Target {
		g := ptest.Start(t, ptest.BuildC(t, "leaderdead.c"))
		g.Ready()
		return g
	}, "Z"},
	{"many threads", func(t *testing.T) *ptest.Target {
		g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "300")
		g.Ready()
		return g
	}, ""},
}

var _ = ptest.Helper("idle", func() {
	ptest.Ready()
	ptest.AwaitEOF()
})

func saysReady(t *testing.T, argv ...string) *ptest.Target {
	t.Helper()
	ptest.Need(t, argv[0])
	g := ptest.Start(t, argv...)
	g.Ready()
	return g
}

// TestSpecimens grabs each specimen, looks at its stacks, continues it and
// lets it go. It does so twice: once held until the end of input, once
// without a hold.
func TestSpecimens(t *testing.T) {
	t.Parallel()
	for _, s := range specimens {
		t.Run(s.name, func(t *testing.T) {
			g := s.start(t)
			if s.state == "" {
				s.state = "RS"
			}
			pid := strconv.Itoa(g.PID)
			p := startPgrab(t, "-w", "-s", "grab", "-p", pid)
			first := "pid " + pid + ": grabbed (" + plural(living(g), "thread") + "), stopped at grab"
			if got := p.Line(); got != first {
				t.Errorf("pgrab prints %q, want %q", got, first)
			}
			p.Stdin.Close()
			if s.state == "T" {
				p.Until("stopped by signal 19 (stopped)")
			}
			for line := p.Line(); line != "pid "+pid+": continued"; line = p.Line() {
				if strings.Contains(line, "lost") || strings.Contains(line, "exited") || strings.Contains(line, "killed") {
					t.Fatalf("pgrab prints %q", line)
				}
			}
			left := "released, running\n"
			if s.state == "T" {
				left = "released, stopped\n"
			}
			p.Signal(os.Interrupt)
			if out, state := p.Finish(); !strings.HasSuffix(out, left) || state.ExitCode() != 0 {
				t.Errorf("pgrab ends with %q, %v", out, state)
			}
			expectFree(t, g, s.state)

			r := pgrab(t, nil, "-w", "-p", pid)
			if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, "    #0 ") {
				t.Errorf("in passing: exit status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
			}
			expectFree(t, g, s.state)
		})
	}
}

// living counts the threads that have not ended.
func living(g *ptest.Target) int {
	n := 0
	for _, tid := range g.Threads() {
		if s := g.ThreadState(tid); s != 'Z' && s != 'X' {
			n++
		}
	}
	return n
}

// TestOtherNamespaces grabs a process in a pid and mount namespace of its own.
func TestOtherNamespaces(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	outer := ptest.Start(t, "unshare", "-pfm", "--kill-child", "sh", "-c", "echo ready; read x")
	outer.Ready()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(outer.PID) + "/task/" + strconv.Itoa(outer.PID) + "/children")
	if err != nil {
		t.Skipf("this kernel does not tell children: %v", err)
	}
	pid := strings.Fields(string(b))[0]
	r := pgrab(t, nil, "-w", "-t", "0", "-p", pid)
	if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, "libc.so") {
		t.Errorf("exit status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
	if _, state := outer.Finish(); state.ExitCode() != 1 { // read(1) at the end of input
		t.Errorf("the process in the namespace ends with %v", state)
	}
}
