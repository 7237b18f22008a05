package procfs

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestMappings: what is mapped at an address is the same by PROCMAP_QUERY and from the whole text.
func TestMappings(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	g.Ready()
	m, err := OpenMappings(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	all, err := Maps(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		m.whole = m.whole || whole
		for _, want := range all {
			if want.Path == "[vsyscall]" {
				continue // not of the address space: the query does not know it
			}
			want.Path, want.Deleted = "", false
			for _, addr := range []uint64{want.Start, want.End - 1} {
				if got, ok, err := m.At(addr); err != nil || !ok || got != want {
					t.Errorf("whole %t: at %#x: %+v, %t, %v, want %+v", whole, addr, got, ok, err, want)
				}
			}
		}
		if got, ok, err := m.At(8); ok || err != nil {
			t.Errorf("whole %t: at 8: %+v, %v", whole, got, err)
		}
	}
	g.Finish()
	for _, whole := range []bool{false, true} {
		m.whole = whole
		if _, ok, err := m.At(all[0].Start); ok || !errors.Is(err, syscall.ESRCH) {
			t.Errorf("whole %t: of a dead process: %t, %v", whole, ok, err)
		}
	}
	own, err := OpenMappings(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	maps, _ := Maps(os.Getpid())
	i := slices.IndexFunc(maps, func(x Map) bool { return x.Perm&Exec != 0 })
	if got, ok, err := own.At(maps[i].Start); err != nil || !ok || got.Inode != maps[i].Inode {
		t.Errorf("own: %+v, %v", got, err)
	}
}
