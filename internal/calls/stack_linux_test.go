package calls

import (
	"fmt"
	"testing"

	"ptools/internal/ptest"
)

// TestStackSize: a stack that is larger than what is copied of it is cut in a tree, and whole if more is copied.
func TestStackSize(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "testdata/deepstack.c", "-O1"))
	target.Ready()
	for _, size := range []int{0, 64 << 10} {
		w := watchSpec(t, target.PID, "a.out", Spec{CallReports: CallReports{StackSize: size}, By: ByPath()}, "bottom", "top")
		w.Begin()
		fmt.Fprintln(target.Stdin)
		target.Line()
		w.End()
		w.Tree()
		if cut := w.Cut(); (cut > 0) != (size == 0) {
			t.Errorf("%d bytes: %d stacks are cut", size, cut)
		}
		w.Close()
	}
	if _, state := target.Finish(); !state.Success() {
		t.Error(state)
	}
}
