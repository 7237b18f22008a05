package ptest

import (
	"os"
	"testing"
)

// zooEnv is set by make zoo.
const zooEnv = "PTOOLS_ZOO"

// Animal is a real program of the distribution, as it runs idle and busy.
type Animal struct {
	Name       string
	Idle, Busy []string // arguments, beginning with the program; it must not end by itself
	Hot        string   // part of the name of a function that Busy compiles at run time and spends its time in
}

// Zoo returns the real programs that the tools are tried on, or skips the test outside make zoo.
// Programs that are not installed are left out, which the test's log says; make zoo installs them.
func Zoo(t testing.TB) []Animal {
	t.Helper()
	if os.Getenv(zooEnv) == "" {
		t.Skip("real programs are tried by make zoo")
	}
	var zoo []Animal
	for _, a := range animals {
		switch {
		case installed(a.Idle[0]):
			zoo = append(zoo, a)
		case required(a.Idle[0]):
			t.Errorf("%s is not installed", a.Idle[0])
		default:
			t.Logf("%s is not installed", a.Idle[0])
		}
	}
	return zoo
}

var animals = []Animal{
	{"shell", []string{"bash", "-c", "sleep 1000; :"}, []string{"bash", "-c", "while :; do :; done"}, ""},
	{"python", []string{"python3", "-c", "import time; time.sleep(1000)"}, []string{"python3", "-c", "while True: sum(range(1000))"}, ""},
	{"node", []string{"node", "-e", "setInterval(() => {}, 100000)"}, []string{"node", "--perf-basic-prof", "--no-logfile-per-isolate", "--logfile=+", "-e", "function fibonacci(n) { return n < 2 ? n : fibonacci(n-1) + fibonacci(n-2) }; for (;;) fibonacci(20)"}, "fibonacci"},
	{"perl", []string{"perl", "-e", "sleep 1000"}, []string{"perl", "-e", "1 while ++$x"}, ""},
	{"ruby", []string{"ruby", "-e", "sleep 1000"}, []string{"ruby", "-e", "loop { (1..1000).sum { |x| x * x } }"}, ""},
	{"lua", []string{"lua5.4", "-e", "io.read()"}, []string{"lua5.4", "-e", "while true do local s = ('x'):rep(100) end"}, ""},
	{"luajit", []string{"luajit", "-e", "io.read()"}, []string{"luajit", "-e", "local x = 0 while true do for i = 1, 1000 do x = x + i % 7 end; ('x'):rep(100):gsub('x', string.upper) end"}, ""},
	{"php", []string{"php", "-r", "sleep(1000);"}, []string{"php", "-r", "while (1) { $a = range(1, 100); usort($a, fn($x, $y) => $y - $x); json_encode($a); }"}, ""},
	{"sqlite", []string{"sqlite3", ":memory:"}, []string{"sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i+1 from n) select count(*) from n"}, ""},
	{"static", []string{"busybox", "sleep", "1000"}, []string{"busybox", "sh", "-c", "while :; do :; done"}, ""},
	{"gdb", []string{"gdb", "-nx", "-q"}, []string{"gdb", "-nx", "-q", "-ex", "python\nwhile True:\n  for big in '/usr/bin/node', '/usr/bin/gdb', '/usr/bin/bash':\n    try: gdb.execute('file -readnow ' + big, to_string=True)\n    except gdb.error: pass\n"}, ""},
}
