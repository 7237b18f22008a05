package perfevent

import (
	"bytes"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestPages: a sample has the pages that were asked for as they were in its own interrupt: the one at the stack pointer is the same as
// the copy of the stack. A page that is not mapped is left out. Samples of other threads have none.
func TestPages(t *testing.T) {
	c := openTicker(t, TickerOptions{Period: time.Millisecond, Stack: 16 << 10})
	if c.filter.pager == nil {
		t.Fatal("the kernel copies no pages")
	}
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	other := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	other.Ready()
	want(t, c, g.PID)
	want(t, c, other.PID)
	const nowhere = PageSize
	paged, same, again := 0, 0, false
	for deadline := time.Now().Add(30 * time.Second); paged < 200 || !again; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d ticks with pages, %d of them with that of the stack pointer", paged, same)
		}
		c.Read(func(r *Record) {
			if r.Kind != Tick || len(r.Stack) == 0 {
				return
			}
			if r.PID == other.PID {
				if again = again || paged > 0; r.Pages != nil {
					t.Error("a thread that was not asked for has pages")
				}
				return
			}
			sp := r.Regs[recordSP]
			page := sp &^ (PageSize - 1)
			if r.Pages == nil {
				c.Watch(r.TID, []uint64{page + PageSize, nowhere, page})
				return
			}
			paged++
			if len(r.Pages.Addrs)*PageSize != len(r.Pages.Data) || r.Pages.Page(nowhere) != nil {
				t.Errorf("%d bytes of pages %#x", len(r.Pages.Data), r.Pages.Addrs)
			}
			for _, addr := range r.Pages.Addrs {
				data := r.Pages.Page(addr)
				off := max(addr, sp) - addr
				at := addr + off - sp
				if at >= uint64(len(r.Stack)) || off >= PageSize {
					continue
				}
				stack := r.Stack[at:]
				stack = stack[:min(len(stack), PageSize-int(off))]
				if same++; !bytes.Equal(stack, data[off:][:len(stack)]) {
					t.Errorf("page %#x is not what the stack at %#x has", addr, sp)
				}
			}
		})
	}
	if same < paged/2 {
		t.Errorf("%d pages of the stack in %d ticks", same, paged)
	}
}
