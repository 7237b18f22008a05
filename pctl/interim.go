package pctl

import (
	"ptools/internal/mem"
	"ptools/pctl/control"
)

func ctlReadAt(c *control.Controller, b []byte, addr int64) (int, error) {
	m, err := mem.Open(c.PID())
	if err != nil {
		return 0, err
	}
	defer m.Close()
	return m.ReadAt(b, addr)
}

func ctlWriteAt(c *control.Controller, b []byte, addr int64) (int, error) {
	m, err := mem.Open(c.PID())
	if err != nil {
		return 0, err
	}
	defer m.Close()
	return m.WriteAt(b, addr)
}

type b1 struct{ *control.Break }

func (b b1) Addrs() []uint64 { return []uint64{b.Addr()} }

type b2 struct{ *control.SymbolBreak }

func (b b2) Addrs() []uint64 { return make([]uint64, b.Places()) }

func brk(b *control.Break, err error) (breakpoint, error)        { return b1{b}, err }
func brk2(b *control.SymbolBreak, err error) (breakpoint, error) { return b2{b}, err }
