package sample_test

import (
	"context"
	"errors"
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

// TestFollow: descendants are in the profile, and the last one ends it, with timers and without.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, timers := range []sample.Timers{sample.TimersOnly, sample.TimersOff} {
		mix := ptest.BuildC(t, "mix.c")
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "sh", "-c", `echo ready; read x; "$0" -n 300; "$0" -n 300; true`, mix)
		g.Ready()
		go func() { // ends with the wait
			begun := time.Now() // nothing shows that timers have begun
			for traced := false; !traced && time.Since(begun) < 4*time.Second; time.Sleep(time.Millisecond) {
				st, err := procfs.ReadStatus(g.PID)
				traced = err == nil && st.TracerPID != 0
			}
			g.Stdin.Write([]byte("\n"))
		}()
		p, err := sample.Run(context.Background(), g.PID, &sample.Options{Follow: true, Timers: timers})
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
			t.Errorf("%v: %+v", timers, commands)
		}
		processes := p.Processes()
		if len(processes) != 3 || processes[0].PID != g.PID || processes[1].PPID != g.PID || processes[1].Command != "mix" {
			t.Errorf("%v: %+v", timers, processes)
		}
	}
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
		if !looked && used > 200*time.Millisecond { // on a loaded machine it may not run when threads are looked at
			t.Errorf("follows %v: mix was not looked at", follows)
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
