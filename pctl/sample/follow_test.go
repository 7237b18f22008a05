package sample_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/pctl/sample"
)

// TestFollow: descendants are in the profile, and end it.
func TestFollow(t *testing.T) {
	mix := ptest.BuildC(t, "mix.c")
	g := ptest.Start(t, "sh", "-c", `echo ready; read x; "$0" -n 300; "$0" -n 300; true`, mix)
	g.Ready()
	time.AfterFunc(300*time.Millisecond, func() { g.Stdin.Write([]byte("\n")) })
	p, err := sample.Run(context.Background(), g.PID, &sample.Options{Follow: true})
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.Output()
	commands := p.Commands()
	if len(commands) != 2 || commands[0].Name != "mix" || commands[0].Processes != 2 || commands[0].CPU < 50*time.Millisecond {
		t.Errorf("%+v", commands)
	}
	processes := p.Processes()
	if len(processes) != 3 || processes[0].PID != g.PID || processes[1].PPID != g.PID || processes[1].Command != "mix" {
		t.Errorf("%+v", processes)
	}
}

// TestFollowWithoutTimers: that is refused.
func TestFollowWithoutTimers(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	g.Ready()
	_, err := sample.Run(context.Background(), g.PID, &sample.Options{Follow: true, Timers: sample.TimersOff})
	if err == nil || err.Error() != "following processes needs timers" {
		t.Errorf("%v", err)
	}
}
