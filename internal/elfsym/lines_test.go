package elfsym

import (
	"bufio"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// addr2line asks a tool for the chain of each address, innermost first, and
// demangles the names.
func addr2line(t *testing.T, tool, file string, addrs []uint64) [][]Line {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("no %s on this machine", tool)
	}
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command(path, "-a", "-i", "-f", "-e", file)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var chains [][]Line
	s := bufio.NewScanner(strings.NewReader(string(out)))
	for s.Scan() {
		if strings.HasPrefix(s.Text(), "0x") {
			chains = append(chains, nil)
			continue
		}
		// elfutils: "name inlined at file:line:column in caller"
		name, _, _ := strings.Cut(s.Text(), " inlined at ")
		s.Scan()
		last := len(chains) - 1
		chains[last] = append(chains[last], position(demangled(name), s.Text()))
	}
	if len(chains) != len(addrs) {
		t.Fatalf("%s answered %d of %d addresses", tool, len(chains), len(addrs))
	}
	return chains
}

// position parses "file:line", "file:line:column", "file:line (discriminator 3)".
func position(name, pos string) Line {
	pos, _, _ = strings.Cut(pos, " ")
	f := strings.Split(pos, ":")
	l := Line{Func: name}
	if f[0] != "??" && len(f) > 1 {
		l.File = path.Clean(f[0])
		l.Line, _ = strconv.Atoi(f[1])
	}
	return l
}

// TestLines compares every few bytes of the program's own code.
func TestLines(t *testing.T) {
	for _, c := range []struct{ name, flags string }{
		{"dwarf5", "-gdwarf-5"},
		{"dwarf4", "-gdwarf-4 -fdebug-types-section -gz=zlib"},
		{"noaranges", "-gdwarf-5 -no-pie"},
		{"sections", "-ffunction-sections -Wl,--gc-sections -O1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bin := inlineProgram(t, append([]string{"-g"}, strings.Fields(c.flags)...)...)
			asked := bin
			if c.name == "noaranges" {
				asked = filepath.Join(t.TempDir(), "bare")
				output(t, "objcopy", "--remove-section=.debug_aranges", bin, asked)
			}
			compareLines(t, asked, bin)
		})
	}
}

// compareLines compares our lines of one file with those of other tools of
// another file with the same code.
func compareLines(t *testing.T, asked, bin string) {
	f := open(t, asked, nil)
	start, text, ok := f.Section(".text")
	if !ok {
		t.Fatal("no .text")
	}
	var addrs []uint64
	for a := start; a < start+uint64(len(text)); a += 7 {
		addrs = append(addrs, a)
	}
	// Binutils 2.40 names innermost functions after the symbol, and in places
	// miscounts the files of DWARF 5. Elfutils continues after the end of a
	// sequence, and takes the first of overlapping inlined calls, where the
	// others take the last. One of the tools must agree.
	elfutils := addr2line(t, "eu-addr2line", bin, addrs)
	binutils := addr2line(t, "addr2line", bin, addrs)
	bad, known, deep := 0, 0, 0
	for i, addr := range addrs {
		got := f.Lines(addr, nil)
		if len(got) == 0 && binutils[i][0].Line == 0 {
			continue
		}
		known++
		deep = max(deep, len(got))
		if !samePlaces(got, elfutils[i]) && !samePlaces(got, binutils[i]) || samePlaces(got, elfutils[i]) && !sameNames(got, elfutils[i]) {
			if bad++; bad <= 5 {
				t.Errorf("%#x:\n  got %v\n  elfutils %v\n  binutils %v", addr, got, elfutils[i], binutils[i])
			}
		}
	}
	if known < 100 || deep < 3 {
		t.Errorf("only %d addresses have lines, the deepest chain %d: the program is not what it should be", known, deep)
	}
	if bad > 0 {
		t.Errorf("%d of %d addresses differ", bad, known)
	}
}

func samePlaces(got, want []Line) bool {
	return slices.EqualFunc(got, want, func(a, b Line) bool { return a.File == b.File && a.Line == b.Line })
}

// sameNames ignores the outermost function: ours has the symbol's name. The tools name other functions without
// their namespaces and classes.
func sameNames(got, want []Line) bool {
	for i := range got {
		last := i+1 == len(got)
		if got[i].Func != want[i].Func && !strings.HasSuffix(got[i].Func, "::"+want[i].Func) && !last || got[i].Func == "" && want[i].Func != "??" || got[i].Inlined == last {
			return false
		}
	}
	return true
}

// TestLinesAcrossUnits: link-time optimization inlines functions of one unit
// into another, so the names are in a different unit than the code.
func TestLinesAcrossUnits(t *testing.T) {
	f := open(t, inlineProgram(t, "-g", "-flto"), nil)
	fn := f.ByName("ns::outer")
	if len(fn) != 1 {
		t.Fatalf("ns::outer is %v", fn)
	}
	seen := make(map[string]bool)
	for a := fn[0].Addr; a < fn[0].Addr+fn[0].Size; a++ {
		var names []string
		for _, l := range f.Lines(a, nil) {
			names = append(names, l.Func)
		}
		seen[strings.Join(names, " < ")] = true
	}
	if want := "ns::inner < ns::middle < ns::outer(long)"; !seen[want] {
		t.Errorf("no address has the chain %q, only %v", want, seen)
	}
}

// TestRestOfFunction: the rest of a function that GCC has split, and inlined where it was, is no call. A call of itself that is
// inlined is one.
func TestRestOfFunction(t *testing.T) {
	bin := build(t, "gcc", "-O3", "-g", "testdata/split.c")
	f := open(t, bin, nil)
	deepest := func(name string) (depth, lines int) {
		seen := make(map[int]bool)
		sym := f.ByName(name)[0]
		for a := sym.Addr; a < sym.Addr+sym.Size; a++ {
			of := f.Lines(a, nil)
			depth = max(depth, len(of))
			seen[of[0].Line] = true
			if last := of[len(of)-1]; last.Func != name {
				t.Errorf("%s+%#x is in %s", name, a-sym.Addr, last.Func)
			}
		}
		return depth, len(seen)
	}
	if depth, lines := deepest("split"); depth != 1 || lines < 5 {
		t.Errorf("split: %d functions inlined in each other, %d lines", depth, lines)
	}
	if depth, _ := deepest("recursive"); depth < 2 {
		t.Error("recursive is not inlined in itself")
	}
}
