package pctl_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"ptools/pctl"
)

// This example follows all processes of a command, each from its first instruction to
// its end.
func ExampleFollow() {
	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()

	var all sync.WaitGroup
	follow := func(p *pctl.Process) { // nothing of p runs before this returns
		events := p.Events(&pctl.EventOptions{Kinds: []pctl.Kind{pctl.KindFollowed, pctl.KindExec}})
		all.Go(func() {
			defer p.Close()
			for e, err := range events.All(ctx) {
				if err != nil {
					log.Fatal(err)
				}
				switch e.Kind {
				case pctl.KindExec:
					fmt.Println("a child executes", e.Path)
				case pctl.KindUndead:
					fmt.Println("status", e.Code)
				}
			}
		})
	}
	p, err := s.Create(ctx,
		&pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "/usr/bin/env true; (exit 3); exit 4"}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}, Follow: &pctl.Follow{Begin: follow}})
	if err != nil {
		log.Fatal(err)
	}
	follow(p)
	if err := p.Continue(ctx); err != nil {
		log.Fatal(err)
	}
	all.Wait()
	// Unordered output:
	// a child executes /usr/bin/env
	// a child executes /usr/bin/true
	// status 0
	// status 3
	// status 4
}
