package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/intern"
	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// places names the functions of processes in the same way for all tools: addresses are compared, not
// how well a tool knows symbols. Functions of a stripped file are distinguished by their starts in the
// unwinding information.
type places struct {
	cache  *elfsym.Cache
	tables map[*elfsym.File]*unwind.Table
	maps   map[int][]procfs.Map
	jits   map[int]*elfsym.PerfMap
}

func newPlaces() *places {
	return &places{
		elfsym.NewCache(64), map[*elfsym.File]*unwind.Table{}, map[int][]procfs.Map{}, map[int]*elfsym.PerfMap{},
	}
}

// name returns the function at an address, or "" if there is none.
func (p *places) name(s spot) string {
	if s.addr == 0 {
		return ""
	}
	maps := intern.Value(p.maps, s.pid, func() (maps []procfs.Map) {
		maps, _ = procfs.Maps(s.pid) // nothing can be named in a process that has ended
		return maps
	})
	i := slices.IndexFunc(maps, func(m procfs.Map) bool { return m.Start <= s.addr && s.addr < m.End })
	switch {
	case i < 0 || maps[i].Path == "":
		return p.inJIT(s)
	case !strings.HasPrefix(maps[i].Path, "/"):
		return maps[i].Path // [vdso]
	}
	m := maps[i]
	base := filepath.Base(m.Path)
	if name := p.inFile(fmt.Sprintf("/proc/%d/root%s", s.pid, m.Path), s.addr-m.Start+m.Off); name != "" {
		return name + " (" + base + ")"
	}
	return base
}

// shares adds up the spots by function, as shares of the sum. It reads the mappings anew: the
// processes still run.
func (p *places) shares(spots []spot) map[string]float64 {
	clear(p.maps)
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

// inFile returns the function at an offset of a file.
func (p *places) inFile(path string, offset uint64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	f, err := p.cache.Open(file, path, nil)
	if err != nil {
		return ""
	}
	for _, s := range f.Segments() {
		if offset-s.Off >= s.Filesz {
			continue
		}
		addr := offset - s.Off + s.Vaddr
		if sym, ok := f.Symbol(addr); ok {
			return sym.Name
		}
		if p.tables[f] == nil {
			p.tables[f] = unwind.NewTable(f)
		}
		if start, ok := p.tables[f].Start(addr); ok {
			return fmt.Sprintf("0x%x", start)
		}
	}
	return ""
}

// inJIT finds code that has no file in the list that its compiler writes. The list grows, so further
// lines are read if an address is not in it.
func (p *places) inJIT(s spot) string {
	jit := intern.Value(p.jits, s.pid, func() *elfsym.PerfMap { return new(elfsym.PerfMap) })
	sym, ok := jit.Lookup(s.addr)
	if file, err := os.Open(fmt.Sprintf("/tmp/perf-%d.map", s.pid)); !ok && err == nil {
		defer file.Close()
		if info, err := file.Stat(); err == nil {
			jit.Refresh(file, info.Size()) // without one, nothing is named
			sym, ok = jit.Lookup(s.addr)
		}
	}
	if !ok {
		return "[anonymous]"
	}
	return sym.Name
}
