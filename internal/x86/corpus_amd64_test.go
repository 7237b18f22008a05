package x86

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// corpus returns the files whose code is planned: the C and C++ libraries, a
// large C++ program, a Go program, and the dynamic linker.
func corpus() []string {
	files := []string{"/bin/bash"}
	if root, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		files = append(files, filepath.Join(strings.TrimSpace(string(root)), "bin", "go"))
	}
	for _, pattern := range []string{"libc.so.6", "libstdc++.so.6", "libm.so.6", "libcrypto.so.3", "ld-linux-x86-64.so.2"} {
		found, _ := filepath.Glob("/lib/x86_64-linux-gnu/" + pattern)
		if len(found) == 0 {
			found, _ = filepath.Glob("/usr/lib*/" + pattern)
		}
		files = append(files, found...)
	}
	for _, program := range []string{"gdb", "node", "python3"} {
		if path, err := exec.LookPath(program); err == nil {
			files = append(files, path)
		}
	}
	return files
}

type function struct{ start, end uint64 }

// functions returns the functions of the symbol tables, and those that only the
// unwind tables have.
func functions(f *elf.File) map[function]bool {
	all := make(map[function]bool)
	add := func(syms []elf.Symbol, _ error) {
		for _, s := range syms {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 {
				all[function{s.Value, s.Value + s.Size}] = true
			}
		}
	}
	add(f.Symbols())
	add(f.DynamicSymbols())
	hdr, frame := f.Section(".eh_frame_hdr"), f.Section(".eh_frame")
	if hdr == nil || frame == nil {
		return all
	}
	h, err1 := hdr.Data()
	e, err2 := frame.Data()
	if err1 != nil || err2 != nil || len(h) < 12 || h[1] != 0x1b || h[2] != 0x03 || h[3] != 0x3b {
		return all
	}
	for h = h[12:]; len(h) >= 8; h = h[8:] {
		start := hdr.Addr + uint64(int64(int32(binary.LittleEndian.Uint32(h))))
		fde := hdr.Addr + uint64(int64(int32(binary.LittleEndian.Uint32(h[4:])))) - frame.Addr
		if fde+16 <= uint64(len(e)) {
			all[function{start, start + uint64(binary.LittleEndian.Uint32(e[fde+12:]))}] = true
		}
	}
	return all
}

// shares counts plans.
type shares struct {
	kinds  [3]int
	direct int
	wrong  int // no instructions: data in the text
	worst  map[string]int
}

func (s *shares) add(code []byte, addr uint64) int {
	p, err := MakePlan(code, addr)
	if err != nil {
		s.wrong++
		return 0
	}
	s.kinds[p.Kind()]++
	if p.Kind() == StepAll {
		s.worst[fmt.Sprintf("% x", code[:max(1, p.Len())])]++
	}
	if c, err := p.Displaced(addr &^ 0xfff); err == nil && p.Kind() == Displace && c.Direct {
		s.direct++
	}
	return p.Len()
}

func (s *shares) String() string {
	n := float64(s.kinds[0] + s.kinds[1] + s.kinds[2])
	return fmt.Sprintf("%.2f %% emulated, %.2f %% displaced (%.2f %% without a step), %.4f %% step-all of %.0f",
		100*float64(s.kinds[Emulate])/n, 100*float64(s.kinds[Displace])/n, 100*float64(s.direct)/n, 100*float64(s.kinds[StepAll])/n, n)
}

// TestCorpus plans the first and the last instruction of the functions of the
// corpus, and decodes the instructions between. Of large files it takes functions at random.
func TestCorpus(t *testing.T) {
	total := shares{worst: make(map[string]int)}
	for _, path := range corpus() {
		file, err := os.Open(path)
		if err != nil {
			t.Log(err)
			continue
		}
		defer file.Close()
		if st, err := file.Stat(); err == nil && testing.Short() && st.Size() > 4<<20 {
			continue
		}
		f, err := elf.NewFile(file)
		if err != nil {
			t.Logf("%s: %v", path, err) // a script
			continue
		}
		s := shares{worst: total.worst}
		for _, sec := range f.Sections {
			if sec.Type != elf.SHT_PROGBITS || sec.Flags&elf.SHF_EXECINSTR == 0 {
				continue
			}
			text, err := sec.Data()
			if err != nil {
				t.Error(err)
				continue
			}
			fns := functions(f)
			step, at := 1+len(fns)/ptest.Rounds(5000, 5000, len(fns)+1), 0
			for fn := range fns {
				if at++; at%step != 0 { // the order is another in each run
					continue
				}
				if fn.start >= sec.Addr && fn.end <= sec.Addr+uint64(len(text)) && fn.start < fn.end {
					s.ends(text[fn.start-sec.Addr:], fn)
				}
			}
		}
		t.Logf("%s: %v (%d not instructions)", path, &s, s.wrong)
		for i, n := range s.kinds {
			total.kinds[i] += n
		}
		total.direct += s.direct
		total.wrong += s.wrong
	}
	t.Logf("all: %v (%d not instructions)", &total, total.wrong)
	t.Logf("step-all: %v", total.worst)
	n := total.kinds[Emulate] + total.kinds[Displace]
	if all := n + total.kinds[StepAll]; n < all-all/1000 || total.wrong > all/1000 {
		t.Errorf("less than 99.9 %% can be stepped off without stopping others")
	}
}

// ends plans the two ends of a function. text starts with it.
func (s *shares) ends(text []byte, fn function) {
	at := func(i uint64) []byte { return text[i:min(i+maxLen+1, uint64(len(text)))] }
	s.add(at(0), fn.start)
	size := fn.end - fn.start
	for i := uint64(0); i < size; {
		in, err := decode(at(i))
		if err != nil {
			return // a table in the text
		}
		n := uint64(len(in.code))
		if i+n == size && i > 0 {
			s.add(at(i), fn.start+i)
		}
		i += n
	}
}
