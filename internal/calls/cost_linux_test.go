package calls

import (
	"testing"
	"time"

	"ptools/internal/ptest/uprobe"
)

// TestMeasureCost: what a hit costs is more than nothing, and a step costs more than an emulated instruction. Our own text is as before.
func TestMeasureCost(t *testing.T) {
	uprobe.NeedCalls(t)
	for _, which := range []CallReports{{}, {Each: true, Values: true}} {
		from := time.Now()
		cost, err := MeasureCost(which)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v: %+v in %v", which, cost, time.Since(from))
		if cost.Emulated < 50*time.Nanosecond || cost.Stepped <= cost.Emulated/2 {
			t.Errorf("%+v: %+v", which, cost)
		}
	}
}
