package rtld

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// process is a target, with the memory and the vector that the package needs.
type process struct {
	*ptest.Target
	mem  *os.File
	auxv map[uint64]uint64
}

// look returns the process of a target. It must not be called before the exec is complete: the kernel
// releases the starting process before it fills the auxiliary vector.
func look(t *testing.T, g *ptest.Target) process {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", g.PID))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", g.PID))
	if err != nil {
		t.Fatal(err)
	}
	auxv := map[uint64]uint64{}
	for ; len(b) >= 16; b = b[16:] {
		auxv[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[8:])
	}
	return process{g, mem, auxv}
}

// ask sends one line to the program, and returns the number that it prints.
func (p process) ask(t *testing.T, format string, args ...any) uint64 {
	t.Helper()
	fmt.Fprintf(p.Stdin, format+"\n", args...)
	line := p.Line()
	n, err := strconv.ParseUint(strings.TrimPrefix(line, "0x"), 16, 64)
	if err != nil || n == 0 {
		t.Fatalf(format+": answered %q", append(args, line)...)
	}
	return n
}

// run starts the program and returns it running, with the address of main that it has printed.
func run(t *testing.T, argv ...string) (process, uint64) {
	t.Helper()
	g := ptest.Start(t, argv...)
	main := readMain(t, g)
	return look(t, g), main
}

func readMain(t *testing.T, g *ptest.Target) uint64 {
	t.Helper()
	var addr uint64
	line := g.Line()
	if _, err := fmt.Sscanf(line, "main 0x%x", &addr); err != nil {
		t.Fatalf("printed %q", line)
	}
	return addr
}

// symbols looks dynamic symbols up in the file that is mapped at base.
func (p process) symbols(t *testing.T, base uint64) func(string) (uint64, bool) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut("\n"+string(maps), fmt.Sprintf("\n%x-", base))
	if !ok {
		t.Fatalf("nothing is mapped at %#x", base)
	}
	line, _, _ := strings.Cut(rest, "\n")
	f, err := elf.Open(line[strings.IndexByte(line, '/'):])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) (uint64, bool) {
		for _, s := range syms {
			if s.Name == name {
				return base + s.Value, true
			}
		}
		return 0, false
	}
}

// libc is a way to build the program.
type libc struct {
	name  string
	build func(t testing.TB, src string, flags ...string) string
	flags []string
	pie   bool
	named bool // the executable has a name in its link map
}

var dynamics = []libc{
	{"glibc PIE", ptest.BuildC, []string{"-pie", "-fPIE", "-DNAMESPACES"}, true, false},
	{"glibc", ptest.BuildC, []string{"-no-pie", "-fno-pie", "-DNAMESPACES"}, false, false},
	{"glibc PIE by GOT", ptest.BuildC, []string{"-pie", "-fPIE", "-Wl,--no-relax", "-rdynamic"}, true, false},
	{"glibc stripped", ptest.BuildC, []string{"-pie", "-fPIE", "-s"}, true, false},
	{"glibc lazy", ptest.BuildC, []string{"-pie", "-fPIE", "-fcf-protection", "-Wl,-z,lazy"}, true, false},
	{"musl PIE", ptest.BuildMusl, []string{"-pie", "-fPIE"}, true, true},
	{"musl", ptest.BuildMusl, []string{"-no-pie", "-fno-pie"}, false, true},
}

// muslStaticPIE links with musl's self-relocating start file, which musl-gcc itself does not do.
var muslStaticPIE = []string{"-DSTATIC", "-fPIE", "-static", "-nostartfiles", "-Wl,-pie,--no-dynamic-linker",
	"/usr/lib/x86_64-linux-musl/rcrt1.o", "/usr/lib/x86_64-linux-musl/crti.o", "/usr/lib/x86_64-linux-musl/crtn.o"}

var statics = []libc{
	{"glibc static", ptest.BuildC, []string{"-static", "-DSTATIC"}, false, false},
	{"glibc static-PIE", ptest.BuildC, []string{"-static-pie", "-fPIE", "-DSTATIC"}, true, false},
	{"musl static", ptest.BuildMusl, []string{"-static", "-DSTATIC"}, false, false},
	{"musl static-PIE", ptest.BuildMusl, muslStaticPIE, true, false},
}

func plugin(t *testing.T, build func(testing.TB, string, ...string) string) string {
	t.Helper()
	return build(t, filepath.Join("testdata", "plugin.c"), "-shared", "-fPIC")
}
