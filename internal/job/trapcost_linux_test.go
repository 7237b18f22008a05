package job

import (
	"context"
	"runtime"
	"testing"
	"time"

	"ptools/pctl"
)

// TestMeasureTrap: a stop takes some microseconds, and the program that was started for it is gone.
func TestMeasureTrap(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("int3s are those of x86-64")
	}
	s := pctl.NewSession(nil)
	defer s.Close()
	for range 3 {
		took, err := MeasureTrap(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if took < time.Microsecond || took > 100*time.Millisecond {
			t.Errorf("%v a hit", took)
		}
		t.Log(took)
	}
}
