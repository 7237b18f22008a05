package sample

import (
	"cmp"
	"slices"

	"ptools/internal/procfs"
)

// stackMap knows the writable mappings of a process. Reading beyond the end of a
// stack is no error where it must be noticed: the memory file reads guard pages
// too.
type stackMap struct {
	pid    int
	maps   []procfs.Map // writable, by address
	misses int          // since maps was read
}

// find returns the bounds of the mapping that holds sp, zeros if they are not
// known. The map is read again when it has not known some stacks, the fewer the
// smaller it is, so that a stack costs the same in a process with many.
func (s *stackMap) find(sp uint64) (bottom, top uint64) {
	if m, ok := s.lookup(sp); ok {
		return m.Start, m.End
	}
	if s.misses++; s.misses <= len(s.maps)/64 {
		return 0, 0
	}
	s.misses = 0
	maps, err := procfs.Maps(s.pid)
	if err != nil {
		return 0, 0 // it has ended
	}
	s.maps = slices.DeleteFunc(maps, func(m procfs.Map) bool { return m.Perm&procfs.Write == 0 })
	m, _ := s.lookup(sp)
	return m.Start, m.End
}

func (s *stackMap) lookup(sp uint64) (m procfs.Map, ok bool) {
	i, found := slices.BinarySearchFunc(s.maps, sp, func(m procfs.Map, sp uint64) int { return cmp.Compare(m.Start, sp) })
	if !found {
		i--
	}
	if i < 0 || sp >= s.maps[i].End {
		return procfs.Map{}, false
	}
	return s.maps[i], true
}
