package elfsym

import (
	"bufio"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// addr2line asks binutils for the chain of each address.
func addr2line(t *testing.T, file string, addrs []uint64) [][]Line {
	t.Helper()
	tool, err := exec.LookPath("addr2line")
	if err != nil {
		t.Skip("no addr2line on this machine")
	}
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command(tool, "-a", "-i", "-f", "-e", file)
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
		name := demangled(s.Text())
		s.Scan()
		pos, _, _ := strings.Cut(s.Text(), " (discriminator")
		file, line, _ := strings.Cut(pos, ":")
		n, _ := strconv.Atoi(line)
		if file == "??" {
			file = ""
		} else {
			file = path.Clean(file)
		}
		last := len(chains) - 1
		chains[last] = append(chains[last], Line{Func: name, File: file, Line: n})
	}
	return chains
}

// TestLinesAgainstAddr2line compares every few bytes of the program's own code.
func TestLinesAgainstAddr2line(t *testing.T) {
	src, err := filepath.Abs("testdata/inline.cc")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, flags string }{
		{"dwarf5", "-gdwarf-5"},
		{"dwarf4", "-gdwarf-4"},
		{"zlib", "-gz=zlib"},
		{"noaranges", "-gno-pubnames"},
		{"debugtypes", "-gdwarf-4 -fdebug-types-section"},
		{"sections", "-ffunction-sections -Wl,--gc-sections"},
		{"O1", "-O1 -fno-inline-small-functions"},
		{"lto", "-flto"},
		{"nopie", "-no-pie"},
	} {
		t.Run(c.name, func(t *testing.T) {
			argv := append([]string{"g++", "-O2", "-g"}, strings.Fields(c.flags)...)
			bin := build(t, "inline", append(argv, src)...)
			if c.name == "noaranges" {
				output(t, "objcopy", "--remove-section=.debug_aranges", bin)
			}
			compareLines(t, bin, ".text")
		})
	}
}

func compareLines(t *testing.T, bin, section string) {
	f := open(t, bin, nil)
	start, text, ok := f.Section(section)
	if !ok {
		t.Fatal("no ", section)
	}
	var addrs []uint64
	for a := start; a < start+uint64(len(text)); a += 3 {
		addrs = append(addrs, a)
	}
	bad, known, deep := 0, 0, 0
	for i, want := range addr2line(t, bin, addrs) {
		got := f.Lines(addrs[i], nil)
		if len(got) == 0 && want[0].Line == 0 {
			continue // binutils answers from the symbol table where DWARF has nothing
		}
		known++
		deep = max(deep, len(got))
		if !sameLines(got, want) {
			if bad++; bad <= 5 {
				t.Errorf("%#x:\n got %v\nwant %v", addrs[i], got, want)
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

func sameLines(got, want []Line) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i].File != want[i].File || got[i].Line != want[i].Line || got[i].Func != want[i].Func {
			return false
		}
		if got[i].Inlined != (i+1 < len(got)) {
			return false
		}
	}
	return true
}
