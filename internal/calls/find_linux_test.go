package calls

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptest"
	"ptools/internal/x86"
)

func open(t testing.TB, path string) *elfsym.File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfsym.New(r, st.Size(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// library returns the path of a shared library, as the compiler finds it.
func library(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("g++", "-print-file-name="+name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestPlans makes plans of real files, and compares them with what objdump says. An instruction where objdump sees none
// would be a probe in the middle of another, which ends the program.
func TestPlans(t *testing.T) {
	paths := []string{library(t, "libc.so.6"), ptest.BuildGo(t, "testdata/goendings.go")}
	if ptest.Torture() {
		paths = append(paths, library(t, "libstdc++.so.6"))
	}
	for _, path := range paths {
		found := Find(open(t, path), false, func(*elfsym.Sym) bool { return true })
		planned, whole, cheap := 0, 0, 0
		for i := range found {
			f := &found[i]
			if f.Err != nil {
				continue
			}
			planned++
			if f.Plan.Whole == nil || f.Plan.Whole == ErrNoReturn {
				whole++
			}
			if f.Plan.Entry.Emulated {
				cheap++
			}
		}
		t.Logf("%s: %d functions, %d planned, %d whole, %d with an emulated entry", path, len(found), planned, whole, cheap)
		if len(found) < 1000 || planned < len(found)*94/100 || whole < planned*99/100 || cheap < planned/2 {
			t.Errorf("%s: %d functions, %d planned, %d whole, %d with an emulated entry", path, len(found), planned, whole, cheap)
		}
		compareWithObjdump(t, path, found)
	}
}

// compareWithObjdump compares the plans of some functions with their disassembly.
func compareWithObjdump(t *testing.T, path string, found []Found) {
	ptest.Need(t, "objdump")
	start := found[len(found)/2].Start
	stop := start + 100<<10
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "--start-address=0x"+hex(start), "--stop-address=0x"+hex(stop), path).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if addr, text, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.Contains(addr, " ") {
			lines[addr] = strings.TrimSpace(text)
		}
	}
	compared := 0
	for i := range found {
		f := &found[i]
		if f.Err != nil || f.Start < start || f.End > stop {
			continue
		}
		compared++
		for _, p := range f.Plan.Returns {
			if p.Addr < start || p.Addr >= stop {
				continue // in a part that the compiler has moved away
			}
			text := lines[hex(p.Addr)]
			if p.Tail && !strings.Contains(text, "j") || !p.Tail && !strings.Contains(text, "ret") {
				t.Errorf("%s: %s ends at %x, where objdump has %q", path, f.Raw, p.Addr, text)
			}
		}
		if lines[hex(f.Plan.Entry.Addr)] == "" {
			t.Errorf("%s: objdump has no instruction at the entry of %s, %x", path, f.Raw, f.Plan.Entry.Addr)
		}
	}
	if compared < 50 {
		t.Errorf("%s: compared %d functions", path, compared)
	}
}

// code is some code at address 0x1000.
type code []byte

func (c code) ReadAddr(b []byte, addr uint64) bool {
	return addr >= 0x1000 && addr-0x1000+uint64(len(b)) <= uint64(len(c)) && copy(b, c[addr-0x1000:]) == len(b)
}

// TestPlaces: where the probes of small functions are.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name    string
		code    string
		entry   uint64
		slot    int32
		returns string
		err     error
	}{
		{name: "push", code: "\x55\x5d\xc3", entry: 0, returns: "2"},
		{name: "endbr64, push", code: "\xf3\x0f\x1e\xfa\x55\x5d\xc3", entry: 4, returns: "6"},
		{name: "sub rsp, push", code: "\x48\x83\xec\x18\x53\x5b\x48\x83\xc4\x18\xc3", entry: 4, slot: 0x18, returns: "a"},
		{name: "endbr64, mov edi, push", code: "\xf3\x0f\x1e\xfa\xbf\x01\x00\x00\x00\x53\x5b\xc3", entry: 9, returns: "b"},
		{name: "endbr64, xchg rsp, push", code: "\xf3\x0f\x1e\xfa\x48\x87\xe0\x53\x5b\xc3", entry: 0, returns: "9"},
		{name: "endbr64, pop, push", code: "\xf3\x0f\x1e\xfa\x5b\x53\xc3", entry: 0, returns: "6"},
		{name: "nop5, ret", code: "\x0f\x1f\x44\x00\x00\x90\xc3", entry: 5, returns: "6"},
		{name: "ret alone", code: "\xc3", entry: 0},
		{name: "jmp out", code: "\xe9\x00\x10\x00\x00", entry: 0},
		{name: "je out, ret", code: "\x85\xff\x0f\x84\x00\x10\x00\x00\xc3", entry: 0, returns: "2? 8"},
		{name: "loop to the start", code: "\xff\xcf\x75\xfc\xc3", err: ErrLoop},
		{name: "loop behind the start", code: "\x90\xff\xcf\x75\xfc\xc3", entry: 0, returns: "5"},
		{name: "loop to the push", code: "\x89\xf8\x50\x75\xfd\x58\xc3", entry: 0, returns: "6"},
	} {
		f := &Function{Range: Range{0x1000, 0x1000 + uint64(len(c.code))}}
		p, err := MakePlan(code(c.code), f)
		if err != c.err {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
		if err != nil {
			continue
		}
		var ends []string
		for _, r := range p.Returns {
			end := hex(r.Addr - 0x1000)
			if r.Cond != Always {
				end += "?"
			}
			ends = append(ends, end)
		}
		if got := strings.Join(ends, " "); p.Entry.Addr-0x1000 != c.entry || p.Entry.Slot != c.slot || got != c.returns {
			t.Errorf("%s: entry at %x, slot at %d, ends %q; want %x, %d, %q", c.name, p.Entry.Addr-0x1000, p.Entry.Slot, got, c.entry, c.slot, c.returns)
		}
	}
}

func hex(n uint64) string {
	const digits = "0123456789abcdef"
	if n < 16 {
		return digits[n : n+1]
	}
	return hex(n/16) + digits[n%16:n%16+1]
}

// FuzzPlan: plans of any bytes have their places inside of them.
func FuzzPlan(f *testing.F) {
	f.Add([]byte("\xf3\x0f\x1e\xfa\x55\x5d\xc3"), uint8(0))
	f.Add([]byte("\x49\x3b\x66\x10\x76\x02\x55\xc3\xeb\xf6"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, convention uint8) {
		fn := &Function{Range: Range{0x1000, 0x1000 + uint64(len(b))}, Convention: Convention(convention % 3), Lands: convention > 100}
		p, err := MakePlan(code(b), fn)
		if err != nil {
			return
		}
		for _, p := range append([]Place{p.Entry}, p.Returns...) {
			if !fn.Has(p.Addr) {
				t.Fatalf("a place at %x", p.Addr)
			}
			if s, ok := x86.StepOf(b[p.Addr-0x1000:]); !ok || s.Len == 0 {
				t.Fatalf("no instruction at %x", p.Addr)
			}
		}
	})
}
