package source

import (
	"cmp"
	"slices"

	"ptools/internal/procfs"
)

// stackMap knows the writable mappings of a process. It is needed because a read
// beyond the end of a stack need not fail: the memory file reads guard pages
// too.
type stackMap struct {
	pid    int
	maps   []procfs.Map // writable, by address
	misses int          // since maps was read
}

// find returns the bounds of the mapping that holds sp; zeros if they are not
// known. The map is read again after some misses. The larger the map, the more
// misses it takes, so that the cost of a stack does not grow with their number.
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
