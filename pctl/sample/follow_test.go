package sample_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/pctl"
	"ptools/pctl/sample"
)

// TestFollow: descendants are in the profile, and the last one ends it, with timers and without. The process is held until
// sampling begins.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, timers := range []sample.Timers{sample.TimersOnly, sample.TimersOff} {
		mix := ptest.BuildC(t, "mix.c")
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "sh", "-c", `echo ready; read x; "$0" -n 300; "$0" -n 300; true`, mix)
		g.Ready()
		p, err := follow(t, g, timers)
		if errors.Is(err, fs.ErrPermission) {
			t.Log(err)
			g.Output()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		g.Output()
		commands := p.Commands()
		if len(commands) != 2 || commands[0].Name != "mix" || commands[0].Processes != 2 || commands[0].CPU < 20*time.Millisecond {
			t.Errorf("%v: %+v\n%s", timers, commands, p.Cost())
		}
		processes := p.Processes()
		if len(processes) != 3 || processes[0].PID != g.PID || processes[1].PPID != g.PID || processes[1].Command != "mix" {
			t.Errorf("%v: %+v", timers, processes)
		}
	}
}

// TestFollowRun: Run by itself follows what a process has begun, and begins, while it is sampled. The process runs all the
// while.
func TestFollowRun(t *testing.T) {
	t.Parallel()
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "sh", "-c", `(while :; do "$0" -n 300; done) & echo ready; read x; kill $!; wait`, ptest.BuildC(t, "mix.c"))
	g.Ready()
	p, err := sample.Run(t.Context(), g.PID, &sample.Options{Follow: true, Timers: sample.TimersOnly, For: 3 * time.Second})
	g.Stdin.Write([]byte("\n"))
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	commands := p.Commands()
	if len(commands) != 2 || commands[0].Name != "mix" || commands[0].Processes < 2 || commands[0].CPU < 20*time.Millisecond || commands[1].CPU == 0 {
		t.Errorf("%+v\n%s", commands, p.Cost())
	}
	processes := p.Processes()
	if len(processes) < 4 || processes[0].PID != g.PID || processes[0].Command != "sh" || processes[1].PPID != g.PID {
		t.Errorf("%+v", processes)
	}
	if _, state := g.Finish(); !state.Success() {
		t.Error(state)
	}
}

// follow samples a process that waits for a line, which it is given, and its descendants until all have ended.
func follow(t *testing.T, g *ptest.Target, timers sample.Timers) (*sample.Profile, error) {
	t.Helper()
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Grab(t.Context(), g.PID, &pctl.GrabOptions{Stop: []pctl.Point{pctl.PointGrab}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	g.Stdin.Write([]byte("\n"))
	return sample.RunProcess(t.Context(), p, &sample.Options{Follow: true, Timers: timers})
}

// TestFollowCreated: without timers a client's process is followed while it is sampled, whether the client follows it or
// not. Processes that were followed for the profile alone run on untraced after it. The others stay the client's.
func TestFollowCreated(t *testing.T) {
	t.Parallel()
	mix := ptest.BuildC(t, "mix.c")
	for _, follows := range []bool{false, true} {
		s := pctl.NewSession(nil)
		defer s.Close()
		o := &pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}, Release: pctl.ModeKill}
		theirs := make(chan *pctl.Process, 10)
		if follows {
			o.Follow = &pctl.Follow{Begin: func(p *pctl.Process) { theirs <- p }}
		}
		p, err := s.Create(t.Context(), &pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", `(exit 3); "$0" -n 100000 >/dev/null & sleep 1000 & wait`, mix}}, o)
		if err != nil {
			t.Fatal(err)
		}
		taken, err := sample.RunProcess(t.Context(), p, &sample.Options{Follow: true, Timers: sample.TimersOff, For: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var used time.Duration
		for _, q := range taken.Processes() {
			names = append(names, q.Command)
			if q.Command == "mix" {
				used = q.CPU
			}
		}
		if got := strings.Join(names, " "); got != "sh sh mix sleep" || used < 10*time.Millisecond {
			t.Errorf("follows %v: %s, mix has used %v", follows, got, used)
		}
		looked := slices.ContainsFunc(taken.Functions(), func(f sample.Function) bool { return strings.HasSuffix(f.Object, "/mix") && f.Self.CPU > 0 })
		var rounds int
		fmt.Sscan(taken.Cost(), &rounds)
		if !looked && rounds > 40 && used > 200*time.Millisecond { // on a loaded machine it may not run when threads are looked at
			t.Errorf("follows %v: mix was not looked at: %s", follows, taken.Cost())
		}
		for _, q := range taken.Processes() {
			st, err := procfs.ReadStatus(q.PID)
			if err != nil {
				continue // (exit 3)
			}
			if traced := st.TracerPID != 0; traced != (follows || q.PID == p.PID()) {
				t.Errorf("follows %v: %s: traced %v", follows, q.Command, traced)
			}
			if q.PID != p.PID() {
				defer syscall.Kill(q.PID, syscall.SIGKILL)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		for len(theirs) > 0 {
			(<-theirs).Close()
		}
	}
}

// TestFollowOwnChild: without timers a child of this program that pctl has not created cannot be followed, and is let go.
func TestFollowOwnChild(t *testing.T) {
	g := ptest.Start(t, "cat")
	_, err := sample.Run(t.Context(), g.PID, &sample.Options{Follow: true, Timers: sample.TimersOff})
	if !errors.Is(err, pctl.ErrOwnChild) {
		t.Errorf("%v", err)
	}
	if by := g.TracerPID(); by != 0 {
		t.Errorf("still traced by %d", by)
	}
	if _, state := g.Finish(); !state.Success() {
		t.Error(state)
	}
}
