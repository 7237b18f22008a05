package profile

import (
	"strings"
	"testing"
)

// TestKernelLeaf: processor time in the kernel belongs to the kernel's function, not to its caller. The processor
// time of a thread that waits in a system call belongs to the function that made the call.
func TestKernelLeaf(t *testing.T) {
	p := New()
	s := p.Space(1, "/bin/app", fakeCode{})
	s.Add(s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{p.Note("copy_[k]"), p.Note("vfs_read_[k]"), p.Note("[read]"), {PC: 0x1003, Kind: Return}})), Values{Samples: 1, CPU: 10, Wall: 10})
	s.Add(s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{p.Note("[read]"), {PC: 0x1003, Kind: Return}})), Values{Samples: 1, CPU: 1, Wall: 10})
	const want = "main 1\nmain;[read];vfs_read_[k];copy_[k] 10\n"
	if got := write(t, p, Folded, &Options{Value: CPU}); got != want {
		t.Errorf("folded %q, want %q", got, want)
	}
	if got := write(t, p, Speedscope, &Options{Value: CPU}); !strings.Contains(got, "copy_[k]") {
		t.Errorf("speedscope lacks the kernel's function:\n%s", got)
	}
}
