package pctl

import "ptools/internal/procfs"

// Map is a mapping of a process's address space: the addresses [Start, End) and what
// is mapped there, from byte Off of the file.
type Map struct {
	Start, End, Off uint64
	Perm            Perm
	Major, Minor    uint32 // device of the file
	Inode           uint64 // 0 where no file is mapped
	// Path is the file's name as seen from the root of its mount namespace, or a name of
	// the kernel's in brackets ("[vdso]", "[anon:…]"), or empty. It is the target's own
	// text: a living file's name may end in " (deleted)".
	Path    string
	Deleted bool // the file's name was removed
}

// Perm is the access that a mapping allows.
type Perm uint8

// The bits of a Perm; a mapping without PermShared is private (copy on write).
const (
	PermRead   Perm = Perm(procfs.Read)
	PermWrite  Perm = Perm(procfs.Write)
	PermExec   Perm = Perm(procfs.Exec)
	PermShared Perm = Perm(procfs.Shared)
)

// String returns the kernel's four letters, such as "r-xp".
func (p Perm) String() string { return procfs.Perm(p).String() }

// Maps returns the process's mappings in ascending order, as the kernel shows
// them now.
func (p *Process) Maps() ([]Map, error) {
	if err := p.open("maps"); err != nil {
		return nil, err
	}
	list, err := procfs.Maps(p.PID())
	if err != nil {
		return nil, p.fail("maps", err)
	}
	maps := make([]Map, len(list))
	for i, m := range list {
		maps[i] = Map{
			Start: m.Start, End: m.End, Off: m.Off, Perm: Perm(m.Perm), Major: m.Major, Minor: m.Minor,
			Inode: m.Inode, Path: m.Path, Deleted: m.Deleted,
		}
	}
	return maps, nil
}
