package control

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

var everyPoint = []notify.Point{notify.Create, notify.PointExec, notify.Preinit, notify.Postinit, notify.Main}

// stops runs a program to each of its rendezvous points and to its end. It returns the
// points, what the program had printed at each of them, and its whole output. The text is
// the file's at each of them, except for uprobes.
func stops(t *testing.T, trap Trap, want []notify.Point, argv ...string) (points []notify.Point, printed []string, all string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	soFar := func() string {
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	bus := notify.NewBus()
	s := bus.Subscribe(notify.Stopped)
	defer s.Close()
	c, err := Start(bg, &Command{Path: argv[0], Args: argv, Files: []*os.File{null, out, os.Stderr}}, &Options{Stop: want, Bus: bus, Trap: trap})
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, c, ModeKill)
	for {
		e := next(t, s)
		if e.Kind.Terminal() {
			if e.Kind != notify.Undead || !e.Exited {
				t.Errorf("ended: %+v", e)
			}
			return points, printed, soFar()
		}
		points, printed = append(points, e.Point), append(printed, soFar())
		if trap == TrapInt3 {
			ptest.TextIntact(t, c.PID())
		}
		if err := c.Continue(bg); err != nil {
			t.Fatal(err)
		}
	}
}

// checkStops checks that each point comes once and in order, and that the initialisers
// print between preinit and postinit.
func checkStops(t *testing.T, initialisers string, argv ...string) {
	t.Helper()
	eachTrap(t, func(t *testing.T, trap Trap) {
		if trap == TrapInt3 {
			sharedFiles.RLock()
			defer sharedFiles.RUnlock()
		} else {
			sharedFiles.Lock()
			defer sharedFiles.Unlock()
		}
		checkStopsBy(t, trap, initialisers, argv...)
	})
}

// sharedFiles keeps uprobes of one parallel test out of the linker and the libraries while another has int3s there: the
// kernel would take those int3s for its own.
var sharedFiles sync.RWMutex

// turn is how often alonePoints was called.
var turn atomic.Int64

// alonePoints returns the points to which a program is run alone: all five, or with -short
// one of them, in turn.
func alonePoints() []notify.Point {
	if !testing.Short() {
		return everyPoint
	}
	i := int(turn.Add(1)) % len(everyPoint)
	return everyPoint[i : i+1]
}

func checkStopsBy(t *testing.T, trap Trap, initialisers string, argv ...string) {
	t.Helper()
	alone, err := exec.Command(argv[0], argv[1:]...).Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	points, printed, all := stops(t, trap, everyPoint, argv...)
	if all != string(alone) {
		t.Errorf("printed %q, alone %q", all, alone)
	}
	if !slices.Equal(points, everyPoint) {
		t.Fatalf("stopped at %v, want %v", points, everyPoint)
	}
	if want := []string{"", "", "", initialisers, initialisers}; !slices.Equal(printed, want) {
		t.Errorf("printed by then: %q, want %q", printed, want)
	}
	// A single point is found as well as all of them are.
	for _, p := range alonePoints() {
		if points, _, _ := stops(t, trap, []notify.Point{p}, argv...); !slices.Equal(points, []notify.Point{p}) {
			t.Errorf("of %v alone: stopped at %v", p, points)
		}
	}
}

// libc is a way to build a program.
type libc struct {
	name  string
	build func(t testing.TB, src string, flags ...string) string
	flags string
}

// muslStaticPIE links with musl's self-relocating start file, which musl-gcc itself does
// not.
const muslStaticPIE = "-fPIE -static -nostartfiles -Wl,-pie,--no-dynamic-linker " +
	"/usr/lib/x86_64-linux-musl/rcrt1.o /usr/lib/x86_64-linux-musl/crti.o /usr/lib/x86_64-linux-musl/crtn.o"

var libcs = []libc{
	{"glibc PIE", ptest.BuildC, "-pie -fPIE"},
	{"glibc", ptest.BuildC, "-no-pie -fno-pie"},
	{"glibc PIE by GOT", ptest.BuildC, "-pie -fPIE -Wl,--no-relax"},
	{"glibc lazy", ptest.BuildC, "-pie -fPIE -Wl,-z,lazy"},
	{"glibc static", ptest.BuildC, "-static"},
	{"glibc static-PIE", ptest.BuildC, "-static-pie -fPIE"},
	{"musl PIE", ptest.BuildMusl, "-pie -fPIE"},
	{"musl", ptest.BuildMusl, "-no-pie -fno-pie"},
	{"musl static", ptest.BuildMusl, "-static"},
	{"musl static-PIE", ptest.BuildMusl, muslStaticPIE},
}

// TestPoints: every kind of executable, with its symbols and without.
func TestPoints(t *testing.T) {
	for _, l := range libcs {
		for _, strip := range []string{"", " -s"} {
			t.Run(l.name+strip, func(t *testing.T) {
				t.Parallel()
				exe := l.build(t, "ctors.c", strings.Fields(l.flags+strip)...)
				checkStops(t, "constructor\n", exe)
			})
		}
	}
}

// TestPointsCXX: objects of static storage duration are made before main.
func TestPointsCXX(t *testing.T) {
	const initialisers = "constructor first\nconstructor second\n"
	for _, flags := range []string{"-pie -fPIE", "-no-pie -fno-pie -s", "-static"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			checkStops(t, initialisers, ptest.BuildC(t, "ctorsxx.cc", strings.Fields(flags)...))
		})
	}
}

const goProgram = `package main

import "os"

func init() { os.Stdout.WriteString("init\n") }

func main() { os.Stdout.WriteString("main\n") }
`

// TestPointsGo: init functions run before main.main.
func TestPointsGo(t *testing.T) {
	src := filepath.Join(t.TempDir(), "prog.go")
	cgo := filepath.Join(t.TempDir(), "cprog.go")
	if err := os.WriteFile(src, []byte(goProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cgo, []byte(strings.Replace(goProgram, "import", "import \"C\"\n\nimport", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, argv := range map[string][]string{
		"static":   {src},
		"stripped": {src, "-ldflags=-s -w"},
		"pie":      {src, "-buildmode=pie"},
		"cgo":      {cgo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkStops(t, "init\n", ptest.BuildGo(t, argv[0], argv[1:]...))
		})
	}
}

// TestPointsByLinker: the linker run as a command.
func TestPointsByLinker(t *testing.T) {
	checkStops(t, "constructor\n", "/lib64/ld-linux-x86-64.so.2", ptest.BuildC(t, "ctors.c", "-pie", "-fPIE"))
}

// TestPointsOfPrograms: real programs, which have no symbols.
func TestPointsOfPrograms(t *testing.T) {
	for _, argv := range [][]string{
		{"/bin/ls", "/bin/ls"},
		{"/usr/bin/python3", "-c", "print('hello')"},
		{"/usr/bin/node", "-e", "console.log('hello')"},
		{"/usr/bin/perl", "-e", "print 'hello'"},
		{"/bin/sh", "-c", "echo hello"},
	} {
		t.Run(filepath.Base(argv[0]), func(t *testing.T) {
			ptest.Need(t, argv[0])
			t.Parallel()
			checkStops(t, "", argv...)
		})
	}
}
