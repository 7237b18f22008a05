package elfsym

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// splitProgram builds testdata/inline.cc in dir with its debug information in files of its own.
func splitProgram(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	src, err := filepath.Abs("testdata/inline.cc")
	if err != nil {
		t.Fatal(err)
	}
	tool(t, dir, append(append([]string{"g++", "-O2", "-g", "-o", "prog"}, flags...), src)...)
	return filepath.Join(dir, "prog")
}

// tool runs a tool of the machine in a directory.
func tool(t *testing.T, dir string, argv ...string) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("no %s on this machine", argv[0])
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// chains returns the functions at every third address of the program's own code.
func chains(t *testing.T, f *File) []string {
	t.Helper()
	start, text, ok := f.Section(".text")
	if !ok {
		t.Fatal("no .text")
	}
	var all []string
	for a := start; a < start+uint64(len(text)); a += 3 {
		s := fmt.Sprintf("%#x:", a)
		for _, l := range f.Lines(a, nil) {
			s += fmt.Sprintf(" %s %s:%d,", l.Func, l.File, l.Line)
		}
		all = append(all, s)
	}
	return all
}

// hostSource opens files of the machine.
type hostSource struct{}

func (hostSource) OpenDebug(path string) (*os.File, error) { return os.Open(path) }

// sameChains compares a program whose debug information is elsewhere with the same program that has it.
func sameChains(t *testing.T, bin string, whole []string) {
	t.Helper()
	f := open(t, bin, hostSource{})
	got, bad := chains(t, f), 0
	for i := range whole {
		if got[i] != whole[i] {
			if bad++; bad <= 3 {
				t.Errorf("got  %s\nwant %s", got[i], whole[i])
			}
		}
	}
	if bad > 0 || len(got) != len(whole) {
		t.Errorf("%d of %d addresses differ, of %d", bad, len(whole), len(got))
	}
	if err := f.Missing(); err != nil {
		t.Errorf("missing: %v", err)
	}
	f.closeDebug()
}

// TestSplitUnits: functions and lines are the same where the debug information is in files of split units, or in a
// package of them.
func TestSplitUnits(t *testing.T) {
	for _, version := range []string{"-gdwarf-5", "-gdwarf-4"} {
		t.Run(version, func(t *testing.T) {
			whole := chains(t, open(t, inlineProgram(t, "-g", version), nil))
			if !slices.ContainsFunc(whole, func(s string) bool { return strings.Contains(s, " ns::inner ") }) {
				t.Fatal("nothing is inlined")
			}
			dir := t.TempDir()
			sameChains(t, splitProgram(t, t.TempDir(), version, "-gsplit-dwarf", "-fdebug-types-section"), whole)
			bin := splitProgram(t, dir, version, "-gsplit-dwarf")
			sameChains(t, bin, whole)

			moved := filepath.Join(t.TempDir(), "prog")
			tool(t, dir, "llvm-dwp", "-e", bin, "-o", moved+".dwp")
			tool(t, dir, "cp", bin, moved)
			for _, dwo := range glob(t, dir, "*.dwo") {
				if err := os.Remove(dwo); err != nil {
					t.Fatal(err)
				}
			}
			sameChains(t, moved, whole)

			f := open(t, bin, hostSource{}) // its files are gone
			if slices.ContainsFunc(chains(t, f), func(s string) bool { return strings.Contains(s, "inner") }) {
				t.Error("an inlined function without its file")
			}
			fn := f.ByName("ns::outer")
			if l := f.Lines(fn[0].Addr+8, nil); len(l) != 1 || l[0].Func != "ns::outer(long)" || l[0].Line == 0 {
				t.Errorf("lines without the file: %+v", l)
			}
			if err := f.Missing(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), ".dwo: ") || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("missing: %v", err)
			}
		})
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %v, %v", pattern, list, err)
	}
	return list
}

// TestSupplement: functions and lines are the same where dwz has moved entries and names into a file that programs share.
func TestSupplement(t *testing.T) {
	whole := chains(t, open(t, inlineProgram(t, "-g"), nil))
	for _, flag := range []string{"", "--dwarf-5"} {
		t.Run(flag, func(t *testing.T) {
			dir := t.TempDir()
			bin := splitProgram(t, dir)
			tool(t, dir, "cp", bin, "other")
			tool(t, dir, append(strings.Fields("dwz -m common.debug "+flag), "prog", "other")...)
			sameChains(t, bin, whole)

			// The link is in a separate debug file, and relative to that.
			tool(t, dir, "mkdir", ".debug")
			tool(t, dir, "objcopy", "--only-keep-debug", "prog", ".debug/prog.debug")
			tool(t, dir, "objcopy", "--strip-debug", "--remove-section=.gnu_debugaltlink", "--remove-section=.debug_sup", "--add-gnu-debuglink=.debug/prog.debug", "prog", "stripped")
			tool(t, dir, "ln", "-s", "../common.debug", ".debug/common.debug")
			sameChains(t, filepath.Join(dir, "stripped"), whole)

			common := filepath.Join(dir, "common.debug")
			hidden := common + ".hidden"
			if err := os.Rename(common, hidden); err != nil {
				t.Fatal(err)
			}
			f := open(t, bin, hostSource{})
			for i, line := range chains(t, f) {
				if line != whole[i] && (strings.Contains(line, ":  ") || strings.Contains(line, ",  ")) {
					t.Errorf("an inlined function without a name: %s", line)
				}
			}
			fn := f.ByName("ns::outer")
			if l := f.Lines(fn[0].Addr+8, nil); len(l) != 1 || l[0].Func != "ns::outer(long)" {
				t.Errorf("lines without the file: %+v", l)
			}
			if err := f.Missing(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "common.debug") {
				t.Errorf("missing: %v", err)
			}

			// A file of another build in its place is refused.
			if err := os.WriteFile(filepath.Join(dir, "x.cc"), []byte("int main() {}\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			tool(t, dir, "g++", "-g", "x.cc", "-o", common)
			f = open(t, bin, hostSource{})
			f.Lines(fn[0].Addr+8, nil)
			if err := f.Missing(); !errors.Is(err, errForeign) {
				t.Errorf("missing: %v", err)
			}
		})
	}
}
