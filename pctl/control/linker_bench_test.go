package control

import (
	"strconv"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// BenchmarkLoad is a dlopen and a dlclose of a followed process with 50 breakpoints by
// symbol.
func BenchmarkLoad(b *testing.B) {
	plugin := ptest.Copy(b, ptest.BuildC(b, "plugin.c", "-shared", "-fPIC"))
	benchmarkToEnd(b, ptest.BuildC(b, "dlchurn.c"), "-t", "1", "-p", plugin)
}

// BenchmarkExec is an exec of a process with 50 breakpoints by symbol.
func BenchmarkExec(b *testing.B) {
	benchmarkToEnd(b, ptest.BuildC(b, "execstorm.c"), "-t", "0")
}

// benchmarkToEnd runs a target for b.N rounds.
func benchmarkToEnd(b *testing.B, argv ...string) {
	argv = append(argv, "-n", strconv.Itoa(b.N))
	c, out := run(b, &Options{Stop: []notify.Point{notify.Create}, Linker: true}, argv...)
	for i := range 50 {
		if _, err := c.BreakSymbol(bg, "", "no_such_function_"+strconv.Itoa(i), 0, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	if err := c.Continue(bg); err != nil {
		b.Fatal(err)
	}
	<-c.Done()
	<-out
}
