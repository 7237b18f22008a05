package pctl

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestSharedOptions: a grab of a process that is under control already has the options of the grab that took
// control, and is refused if it asks for others.
func TestSharedOptions(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	s := session(t, nil)
	own := GrabOptions{Stop: []Point{PointExec, PointMain}, Release: ModeKill, Trap: TrapInt3, Linker: true}
	first := grab(t, s, g.PID, &own)
	for name, o := range map[string]*GrabOptions{
		"Stop":                {Stop: []Point{PointMain, PointGrab}},
		"Release":             {Release: ModeStop},
		"Trap":                {Trap: TrapUprobe},
		"OnThreadStart":       {OnThreadStart: func(int, int, *Registers) {}},
		"Stop, Release, Trap": {Stop: []Point{PointGrab}, Release: ModeStop, Trap: TrapUprobe, Linker: true},
	} {
		p, err := s.Grab(bg, g.PID, o)
		if !errors.Is(err, ErrOptions) || !strings.HasSuffix(err.Error(), ": "+name) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			p.Close()
		}
	}
	grab(t, s, g.PID, &own).Close() // the same again is no other
	second := grab(t, s, g.PID, nil)
	first.Close()
	// The last reference asked for nothing: the mode is that of the grab that took control.
	if err := second.Release(bg); err != nil {
		t.Error(err)
	}
	if e, err := second.Wait(bg); err != nil || e.Kind != KindUndead || e.Signal != int(syscall.SIGKILL) {
		t.Errorf("it ends with %v, %v", e, err)
	}
	second.Close()
}

// TestSharedLinker: the run-time linker is followed from the start, or not at all.
func TestSharedLinker(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	s := session(t, nil)
	first := grab(t, s, g.PID, nil)
	if _, err := s.Grab(bg, g.PID, &GrabOptions{Linker: true}); !errors.Is(err, ErrOptions) {
		t.Errorf("Linker: %v", err)
	}
	first.Close()
}
