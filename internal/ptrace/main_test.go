package ptrace

import (
	"testing"

	"ptools/internal/ptest"
)

// The tests of this package are experiments: each shows one fact about ptrace(2) or wait4(2) that
// the project relies on, on a real process. doc/ptrace.md lists them.
func TestMain(m *testing.M) { ptest.Main(m) }
