package calls

import (
	"debug/elf"

	"ptools/internal/perfevent"
	"ptools/pctl/handle"
)

// constants reads texts in read-only data of objects. Their pages may not be in memory when a call begins, so that the kernel does not
// copy them. They are in the files.
type constants struct{ space *handle.Space }

// mostConstant bounds how many bytes are read at once.
const mostConstant = max(perfevent.MostText+1, mostName)

// read reads up to n bytes at an address.
func (c *constants) read(addr, n uint64) ([]byte, bool) {
	if c.space == nil || addr == 0 {
		return nil, false
	}
	o, ok := c.space.Data(addr)
	if !ok || o.File == nil {
		return nil, false
	}
	at := addr - o.Bias
	for _, s := range o.File.Segments() {
		if at < s.Vaddr || at-s.Vaddr >= s.Filesz || s.Flags&elf.PF_W != 0 {
			continue
		}
		b := make([]byte, min(n, mostConstant, s.Filesz-(at-s.Vaddr)))
		return b, o.File.ReadAddr(b, at)
	}
	return nil, false
}
