package preempt

import (
	"testing"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }
