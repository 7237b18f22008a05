package main

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// places names the functions of processes, for all tools alike: what is compared are addresses, not how
// well a tool knows symbols. Functions of a stripped file are told apart by where the unwinding
// information says that they begin.
type places struct {
	files map[string][]entry
	maps  map[int][]mapping
}

// entry is the beginning of a function; addresses are those of the file, or of the process for code
// that was made at run time.
type entry struct {
	addr, end uint64 // end 0: up to the next
	name      string
}

// mapping is a line of /proc/PID/maps.
type mapping struct {
	start, end, offset uint64
	path               string
}

func newPlaces() *places { return &places{map[string][]entry{}, map[int][]mapping{}} }

// name returns the function at an address, or "" where there is none.
func (p *places) name(s spot) string {
	if s.addr == 0 {
		return ""
	}
	maps, ok := p.maps[s.pid]
	if !ok {
		maps = readMaps(s.pid)
		p.maps[s.pid] = maps
	}
	i := slices.IndexFunc(maps, func(m mapping) bool { return m.start <= s.addr && s.addr < m.end })
	if i < 0 {
		return p.inJIT(s)
	}
	m := maps[i]
	switch {
	case strings.HasPrefix(m.path, "/"):
		return p.inFile(fmt.Sprintf("/proc/%d/root%s", s.pid, m.path), s.addr-m.start+m.offset)
	case m.path != "":
		return m.path // [vdso]
	}
	return p.inJIT(s)
}

// shares adds up the spots by function, as parts of all of them. Mappings are read anew: the processes
// still run.
func (p *places) shares(spots []spot) map[string]float64 {
	p.maps = map[int][]mapping{}
	var sum float64
	all := map[string]float64{}
	for _, s := range spots {
		sum += s.weight
		all[p.name(s)] += s.weight
	}
	for name := range all {
		all[name] /= sum
	}
	return all
}

func (p *places) inFile(path string, offset uint64) string {
	base := filepath.Base(path)
	entries, ok := p.files[path]
	if !ok {
		entries = readEntries(path)
		p.files[path] = entries
	}
	if name := at(entries, offset); name != "" {
		return name + " (" + base + ")"
	}
	return base
}

// inJIT finds code that has no file in what its maker says of it. That grows, so it is read anew where
// an address is not in it.
func (p *places) inJIT(s spot) string {
	path := fmt.Sprintf("/tmp/perf-%d.map", s.pid)
	name := at(p.files[path], s.addr)
	if name == "" {
		p.files[path] = readJIT(path)
		name = at(p.files[path], s.addr)
	}
	if name == "" {
		name = "[anonymous]"
	}
	return name
}

// at returns the name of the last entry at or before an address.
func at(entries []entry, addr uint64) string {
	i, found := slices.BinarySearchFunc(entries, addr, func(e entry, addr uint64) int { return cmp.Compare(e.addr, addr) })
	if !found {
		i--
	}
	if i < 0 || entries[i].end != 0 && addr >= entries[i].end {
		return ""
	}
	return entries[i].name
}

func readMaps(pid int) (maps []mapping) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)) // of a process that has ended nothing can be named
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		var m mapping
		if _, err := fmt.Sscanf(f[0], "%x-%x", &m.start, &m.end); err != nil || len(f) < 5 {
			continue
		}
		m.offset, _ = strconv.ParseUint(f[2], 16, 64) // the kernel printed it
		if len(f) > 5 {
			m.path = f[5]
		}
		maps = append(maps, m)
	}
	return maps
}

// readEntries returns the functions of a file by their offsets in it.
func readEntries(path string) (entries []entry) {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	add := func(addr uint64, name string) {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Vaddr <= addr && addr < p.Vaddr+p.Filesz {
				entries = append(entries, entry{addr: addr - p.Vaddr + p.Off, name: name})
			}
		}
	}
	static, _ := f.Symbols()         // one of the two may be absent
	dynamic, _ := f.DynamicSymbols() //
	for _, s := range slices.Concat(static, dynamic) {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
			add(s.Value, s.Name)
		}
	}
	for _, addr := range frameStarts(f) {
		add(addr, fmt.Sprintf("0x%x", addr))
	}
	// A name before a number, and of several names always the same.
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), -cmp.Compare(a.name[0], b.name[0]), cmp.Compare(a.name, b.name))
	})
	return slices.CompactFunc(entries, func(a, b entry) bool { return a.addr == b.addr })
}

// frameStarts returns the beginnings of the functions that .eh_frame_hdr lists, in the one encoding
// that linkers use (Linux Standard Base, Exception Frames).
func frameStarts(f *elf.File) (starts []uint64) {
	const pcrelSdata4, udata4, datarelSdata4 = 0x1b, 0x03, 0x3b
	s := f.Section(".eh_frame_hdr")
	if s == nil {
		return nil
	}
	b, err := s.Data()
	if err != nil || len(b) < 12 || b[0] != 1 || b[1] != pcrelSdata4 || b[2] != udata4 || b[3] != datarelSdata4 {
		return nil
	}
	for b = b[12:]; len(b) >= 8; b = b[8:] {
		starts = append(starts, s.Addr+uint64(int32(binary.LittleEndian.Uint32(b))))
	}
	return starts
}

// readJIT reads the lines "START SIZE NAME" of a perf map. Code is moved and its place used again: the
// last line holds.
func readJIT(path string) (entries []entry) {
	b, _ := os.ReadFile(path) // without one, nothing is named
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(f) < 3 {
			continue
		}
		start, err := strconv.ParseUint(f[0], 16, 64)
		size, err2 := strconv.ParseUint(f[1], 16, 64)
		if err == nil && err2 == nil {
			entries = append(entries, entry{start, start + size, f[2]})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.addr, b.addr) })
	last := entries[:0]
	for i, e := range entries {
		if i+1 == len(entries) || entries[i+1].addr != e.addr {
			last = append(last, e)
		}
	}
	return last
}
