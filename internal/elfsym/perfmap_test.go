package elfsym

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func perfName(m *PerfMap, pc uint64) string {
	s, ok := m.Lookup(pc)
	if ok != (s.Name != "") {
		return "?"
	}
	return s.Name
}

func TestPerfMap(t *testing.T) {
	m := readPerfMap(t, "1000 100 first\nnonsense\n0x1080 10 LazyCompile:~f /a b.js:3\n"+
		"1200 0 empty\nffffffffffffff00 200 wraps\n1300 20\n1400 8 last\n")
	for pc, want := range map[uint64]string{
		0xfff: "", 0x1000: "first", 0x107f: "first", 0x1080: "LazyCompile:~f /a b.js:3", 0x108f: "LazyCompile:~f /a b.js:3",
		0x1090: "first", 0x10ff: "first", 0x1100: "", 0x1200: "", 0x1300: "", 0x1407: "last", ^uint64(0): "",
	} {
		if got := perfName(m, pc); got != want {
			t.Errorf("%#x is %q, not %q", pc, got, want)
		}
	}
	if s, _ := m.Lookup(0x1095); s.Addr != 0x1000 || s.Size != 0x100 || s.Kind != JIT {
		t.Errorf("%+v", s)
	}
}

// TestPerfMapReused: functions that share addresses with others are known, whether they come in one piece or not. The same
// function again is no other one.
func TestPerfMapReused(t *testing.T) {
	const first, second = "1000 100 alpha\n2000 10 kept\n3000 40 again\n4000 10 under\n", "1080 20 beta\n3000 40 again\n2010 10 beside\n3ff0 100 over\n"
	text := first + second
	pieces := new(PerfMap)
	for _, size := range []int{len(first), len(text)} {
		if _, err := pieces.Refresh(strings.NewReader(text), int64(size)); err != nil {
			t.Fatal(err)
		}
	}
	whole := readPerfMap(t, text)
	for pc, want := range map[uint64]bool{0x1080: true, 0x2000: false, 0x2010: false, 0x3000: false, 0x4000: true, 0x5000: false} {
		for _, m := range []*PerfMap{pieces, whole} {
			if got := m.Reused(pc); got != want {
				t.Errorf("%#x (%s): reused %v", pc, perfName(m, pc), got)
			}
		}
	}
}

// TestPerfMapGrows reads a map as a JIT writes it, in pieces that end anywhere,
// and compares with a table of every byte.
func TestPerfMapGrows(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const space = 1 << 12
	var truth [space]string
	var text strings.Builder
	var m PerfMap
	shown, done := 0, 0
	var pending [][3]any
	for i := range 400 {
		start, size := r.Uint64N(space-64), 1+r.Uint64N(64)
		name := fmt.Sprintf("f%d", i)
		fmt.Fprintf(&text, "%x %x %s\n", start, size, name)
		pending = append(pending, [3]any{start, size, name})
		if r.IntN(4) != 0 {
			continue
		}
		shown += r.IntN(text.Len() - shown + 1)
		if _, err := m.Refresh(strings.NewReader(text.String()), int64(shown)); err != nil {
			t.Fatal(err)
		}
		whole := strings.Count(text.String()[:shown], "\n")
		for _, p := range pending[:whole-done] {
			for a := p[0].(uint64); a < p[0].(uint64)+p[1].(uint64); a++ {
				truth[a] = p[2].(string)
			}
		}
		pending, done = pending[whole-done:], whole
		for a := range uint64(space) {
			if got := perfName(&m, a); got != truth[a] {
				t.Fatalf("after %d entries %#x is %q, not %q", done, a, got, truth[a])
			}
		}
	}
	if changed, err := m.Refresh(strings.NewReader(text.String()), int64(shown)); changed || err != nil {
		t.Errorf("nothing was added, but %v %v", changed, err)
	}
	// A new process with the same number starts a new file.
	if _, err := m.Refresh(strings.NewReader("10 10 new\n"), 10); err != nil {
		t.Fatal(err)
	}
	if len(m.entries) != 1 || perfName(&m, 0x10) != "new" || perfName(&m, 0x30) != "" {
		t.Errorf("%d entries after the file was replaced", len(m.entries))
	}
}

func TestPerfMapCompacts(t *testing.T) {
	var m PerfMap
	for i := range 100 {
		m.entries = append(m.entries, perfEntry{start: uint64(i), size: 1, name: fmt.Sprint(i)})
	}
	m.cover = settle([]claim{{0, 10, 5}, {10, 20, 99}, {15, 17, 7}})
	m.compact()
	if len(m.entries) != 2 || perfName(&m, 3) != "5" || perfName(&m, 16) != "99" {
		t.Errorf("%d entries, %q %q", len(m.entries), perfName(&m, 3), perfName(&m, 16))
	}
}

// TestPerfMapFull: a list with more functions than are kept says so, and has those at its beginning.
func TestPerfMapFull(t *testing.T) {
	var text strings.Builder
	const n = maxPerfNames/maxPerfName + 1
	for i := range n {
		fmt.Fprintf(&text, "%x 10 f%0*d\n", 0x1000+8*i, maxPerfName, i)
	}
	var m PerfMap
	for range 2 {
		if _, err := m.Refresh(strings.NewReader(text.String()), int64(text.Len())); err != ErrPerfMap {
			t.Fatal(err)
		}
	}
	if perfName(&m, 0x1000) == "" || perfName(&m, 0x1000+8*(n/2)) == "" {
		t.Error("functions at the beginning have no names")
	}
	if m.names > maxPerfNames || len(m.entries) > maxPerfEntries {
		t.Errorf("%d entries with %d bytes of names", len(m.entries), m.names)
	}
}

// readPerfMap reads a whole map.
// TestPerfMapRewritten: a file that was written anew has its new functions only, whatever its size is.
func TestPerfMapRewritten(t *testing.T) {
	before := "1000 10 one\n2000 10 two\n"
	for _, after := range []string{
		"1000 10 ein\n2000 10 two\n", "1000 10 one\n2000 10 new\n", "3000 10 new\n", before + "1000 10 new\n", "1000 10 new_and_longer\n2000 10 two\n3000 10 three\n",
	} {
		m := readPerfMap(t, before)
		m.Doubt()
		if _, err := m.Refresh(strings.NewReader(after), int64(len(after))); err != nil {
			t.Fatal(err)
		}
		want := readPerfMap(t, after)
		for _, pc := range []uint64{0x1000, 0x2000, 0x3000} {
			if got, want := perfName(m, pc), perfName(want, pc); got != want {
				t.Errorf("%q: %#x is %q, want %q", after, pc, got, want)
			}
		}
	}
}

func readPerfMap(t *testing.T, text string) *PerfMap {
	t.Helper()
	m := new(PerfMap)
	if _, err := m.Refresh(strings.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
	return m
}
