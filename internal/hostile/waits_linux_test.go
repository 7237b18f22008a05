package hostile_test

import (
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestCrowdedWaits: threads wait for what takes long to describe. pgrab describes it once for all of them, and says how much it
// leaves out.
func TestCrowdedWaits(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "crowdedwaits.c"), "-t", "800")
	g.Ready()
	pgrab := build(t, "pgrab")
	printed := attacked(t, g, []string{pgrab, "-w", "-t", "0", "-p"})
	for _, want := range []string{"at 10000 descriptors", "exclusive flock lock", "and 236 more"} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is not in\n%.4000s", want, printed)
		}
	}
}
