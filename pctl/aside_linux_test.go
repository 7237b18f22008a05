package pctl

import (
	"fmt"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestCountAside: a breakpoint that only counts is where the kernel emulates the instruction, and counts each call once. When hits are asked for it
// stops threads at the beginning of the function, and no call is lost or counted twice meanwhile.
func TestCountAside(t *testing.T) {
	uprobe.Need(t)
	const threads = 4
	g := ptest.Start(t, ptest.BuildC(t, "testdata/aside.c", "-fcf-protection=full"), fmt.Sprint(threads))
	g.Ready()
	s := session(t, nil)
	p := grab(t, s, g.PID, nil)
	call := func(n int) {
		fmt.Fprintln(g.Stdin, n)
		g.Line()
	}
	counted, err := p.Break(bg, Where{Symbol: "aside"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	entry := symbol(t, p, "aside")
	if at := counted.Addrs(); len(at) != 1 || at[0] == entry || at[0] > entry+32 {
		t.Fatalf("it is set at %#x, the function is at %#x", at, entry)
	}
	n := ptest.Rounds(1000, 5000, 50_000)
	call(n)
	if hits := counted.Hits(); hits != uint64(threads*n) {
		t.Errorf("%d hits in %d calls", hits, threads*n)
	}
	before := counted.Hits()
	hits := p.Events(&EventOptions{Kinds: []Kind{KindHit}})
	defer hits.Close()
	if at := counted.Addrs(); len(at) != 1 || at[0] != entry {
		t.Fatalf("it is set at %#x now, the function is at %#x", at, entry)
	}
	const few = 20
	call(few)
	for i := range uint64(threads * few) {
		if e, err := hits.Next(bg); err != nil || e.Addr != entry || e.Hits != before+i+1 {
			t.Fatalf("hit %d after %d: %+v, %v", i, before, e, err)
		}
	}
	if err := counted.Remove(bg); err != nil {
		t.Fatal(err)
	}
	call(few)
	if n := counted.Hits(); n != before+threads*few {
		t.Errorf("%d hits after it was removed, %d before", n, before+threads*few)
	}
	g.Finish()
}

// TestCountGrowing: a call of Go for which the stack grows, which begins twice, is counted once.
func TestCountGrowing(t *testing.T) {
	uprobe.Need(t)
	g := ptest.Start(t, ptest.BuildGo(t, "testdata/grow.go"))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	counted, err := p.Break(bg, Where{Symbol: "main.deep"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(g.Stdin)
	if line := g.Line(); line != "20000" {
		t.Errorf("the target says %q", line)
	}
	if hits := counted.Hits(); hits != 20_100 {
		t.Errorf("%d hits in 20,100 calls", hits)
	}
	g.Finish()
}
