package sample

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// TestNumberOfAnother: a process ends while it is sampled, and its number becomes another one's at once. The processor time is
// that of the first.
func TestNumberOfAnother(t *testing.T) {
	needTimers(t)
	g := ptest.Start(t, ptest.BuildC(t, "testdata/reuse.c"))
	var pid int
	if _, err := fmt.Sscan(g.Line(), &pid); err != nil {
		t.Fatal(err)
	}
	files, done := openFiles(t), make(chan struct{})
	p, err := procfs.OpenPIDFD(pid)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(done)
		p.Wait(context.Background())
		p.Close()
	}()
	src := source.Watch(pid, done, files, false)
	asked := false
	s := New([]*source.Process{src}, &Options{
		Period: 10 * time.Millisecond, For: time.Minute, Ticks: wanting(t, TimersOnly, 10*time.Millisecond, src),
		Progress: func(*Progress) {
			if used, err := source.ProcessorTime(pid); !asked && err == nil && used > 300*time.Millisecond {
				asked = true
				io.WriteString(g.Stdin, "\n")
			}
		},
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if answer := g.Line(); answer != "reused" {
		t.Skip(answer)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if used, err := source.ProcessorTime(pid); err != nil || used > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the other process does not run")
		}
	}
	if used, err := src.CPU(); !vanished(err) {
		t.Errorf("%v of the other process, %v", used, err)
	}
	if cpu := s.Profile().CPU; cpu < 100*time.Millisecond || cpu > time.Second {
		t.Errorf("%v of processor time", cpu)
	}
	if alpha, other := share(t, s, profile.CPU, "alpha"), share(t, s, profile.CPU, "impostor"); alpha < 0.9 || other > 0 {
		t.Errorf("%.1f %% in alpha, %.1f %% in the other process", 100*alpha, 100*other)
	}
}
