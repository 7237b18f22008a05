package pctl_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/exec"
	"time"

	"ptools/pctl"
)

// A process is stopped for as long as a function runs, and resumes as if
// nothing had happened.
func ExampleProcess_Pause() {
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		log.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()

	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()
	p, err := s.Grab(ctx, sleep.Process.Pid, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	var threads []*pctl.Thread
	err = p.Pause(ctx, func(snap *pctl.Snapshot) error {
		snap.CopyStacks()
		threads = snap.Threads()
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// The process runs again; the copies can be used at any time.
	for _, t := range threads {
		frames, _ := t.Stack()
		fmt.Println(t.Name(), len(frames) > 0)
	}
	// Output: sleep true
}

// A command is created under control: none of its instructions has run when
// Create returns.
func ExampleSession_Create() {
	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()
	p, err := s.Create(ctx,
		&pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "exit 3"}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	events := p.Events(&pctl.EventOptions{
		Kinds: []pctl.Kind{pctl.KindCreated, pctl.KindStopped, pctl.KindContinued},
	})
	for e, err := range events.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		switch e.Kind {
		case pctl.KindStopped:
			fmt.Println(e.Kind, "at", e.Point)
			if err := p.Continue(ctx); err != nil {
				log.Fatal(err)
			}
		case pctl.KindUndead:
			fmt.Println(e.Kind, "with status", e.Code)
		default:
			fmt.Println(e.Kind)
		}
	}
	// Output:
	// created
	// stopped at create
	// continued
	// undead with status 3
}

// A breakpoint by symbol waits for the object that has it.
func ExampleProcess_Break() {
	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()
	p, err := s.Create(ctx,
		&pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "exit 7"}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	b, err := p.Break(ctx, pctl.Where{Symbol: "_exit"}, func(h *pctl.Hit) {
		fmt.Println("status", h.Registers().Args()[0])
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Continue(ctx); err != nil {
		log.Fatal(err)
	}
	end, err := p.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Hits(), "hit,", end.Kind)
	// Output:
	// status 7
	// 1 hit, undead
}

// The error of a refused grab says why, and what can be done about it.
func ExampleRefusal() {
	s := pctl.NewSession(nil)
	defer s.Close()
	_, err := s.Grab(context.Background(), 1<<30, nil)
	fmt.Println(err)

	var refusal *pctl.Refusal
	switch {
	case errors.Is(err, pctl.ErrNoProcess):
		fmt.Println("gone already")
	case errors.As(err, &refusal):
		fmt.Println(refusal.Advice)
	}
	// Output:
	// pctl: grab 1073741824: no such process
	// gone already
}

// Reading needs no control and stops no thread. The handle is kept for a while
// after the last reference, so that doing this again costs little.
func ExampleGrabOptions_readOnly() {
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		log.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()

	s := pctl.NewSession(&pctl.SessionOptions{CacheLimit: 32})
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := s.Grab(ctx, sleep.Process.Pid, &pctl.GrabOptions{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	tids, err := p.Threads()
	fmt.Println(len(tids), err)
	fmt.Println(errors.Is(p.Continue(ctx), pctl.ErrReadOnly))
	// Output:
	// 1 <nil>
	// true
}
