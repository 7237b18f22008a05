package pctl_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"syscall"
	"time"

	"ptools/pctl"
)

// A crash catcher: it shows what a thread was doing when it received the signal that ends the
// process.
func ExampleProcess_Catch() {
	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()
	p, err := s.Create(ctx,
		&pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "kill -SEGV $$"}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	var crashed *pctl.Thread
	_, err = p.Catch(ctx, func(d *pctl.Delivery) {
		if d.Signal == syscall.SIGSEGV && !d.Caught() {
			crashed = d.Thread() // a copy, so the process need not wait
		}
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
	frames, _ := crashed.Stack()
	fmt.Println("killed by", syscall.Signal(end.Signal), "in", frames[0].Func)
	// Output: killed by segmentation fault in kill
}

// A latency tracer: it measures the time from the entry of a function to its return.
func ExampleHit_OnReturn() {
	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()
	p, err := s.Create(ctx,
		&pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo hello >/dev/null"}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	_, err = p.Break(ctx, pctl.Where{Object: "libc", Symbol: "write"}, func(h *pctl.Hit) {
		began, size := time.Now(), h.Registers().Args()[2]
		h.OnReturn(func(h *pctl.Hit) {
			written, took := h.Registers().Result(), time.Since(began)
			fmt.Println(size, "bytes,", written, "written; it took time:", took > 0)
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Continue(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := p.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: 6 bytes, 6 written; it took time: true
}

// A tool that looks at each program that a process executes, before the program's first
// instruction.
func ExampleProcess_StopAt() {
	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()
	p, err := s.Create(ctx,
		&pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "exec env env true"}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	for e, err := range p.Events(&pctl.EventOptions{Kinds: []pctl.Kind{pctl.KindExec, pctl.KindStopped}}).All(ctx) {
		switch {
		case err != nil:
			log.Fatal(err)
		case e.Kind == pctl.KindExec:
			fmt.Println(filepath.Base(e.Path))
		case e.Kind == pctl.KindStopped:
			// Each point is reached once; here the next one is asked for.
			if err := p.StopAt(ctx, pctl.PointExec); err != nil {
				log.Fatal(err)
			}
			if err := p.Continue(ctx); err != nil {
				log.Fatal(err)
			}
		}
	}
	// Output:
	// env
	// env
	// true
}
