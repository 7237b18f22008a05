package control

import (
	"testing"

	"ptools/internal/ptest/uprobe"
)

// eachTrap runs a test with int3s, and with uprobes wherever the kernel can probe.
func eachTrap(t *testing.T, f func(t *testing.T, trap Trap)) {
	t.Helper()
	for _, trap := range []Trap{TrapInt3, TrapAuto} {
		t.Run(trap.String(), func(t *testing.T) {
			if trap == TrapAuto {
				needUprobes(t)
			}
			f(t, trap)
		})
	}
}

// needUprobes skips a test if the kernel refuses uprobes.
var needUprobes = uprobe.Need
