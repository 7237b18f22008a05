package control

import (
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// BenchmarkTracedLook is a stop of a thread and its resumption.
func BenchmarkTracedLook(b *testing.B) {
	for _, name := range []string{"off", "on"} {
		b.Run(name, func(b *testing.B) {
			g := ptest.StartWith(b, &ptest.Options{Foreign: true}, ptest.BuildC(b, "spin.c"))
			g.Ready()
			o := new(Options)
			if name == "on" {
				o.Trace = NewTrace(0, nil)
			}
			c, err := Attach(bg, g.PID, o)
			if err != nil {
				b.Fatal(err)
			}
			defer release(b, c, ModeRun)
			tids := c.Threads()[:1]
			for b.Loop() {
				c.LookIf(bg, tids, nil, nil, func(int, *ptrace.Regs) {})
			}
		})
	}
}
