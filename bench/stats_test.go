package main

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// TestMedianLeavesOrder shows that the values stay in the order of the repeats.
func TestMedianLeavesOrder(t *testing.T) {
	v := []float64{3, 1, 2}
	median(v)
	if v[0] != 3 || v[1] != 1 {
		t.Errorf("%v", v)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		unit unit
		v    float64
		want string
	}{
		{perSecond, 41234, "41.2 k/s"}, {perSecond, 1e6, "1 M/s"}, {perSecond, 0.5, "0.50 /s"},
		{seconds, 0.0012345, "1.23 ms"}, {seconds, 5e-7, "500 ns"}, {seconds, 0, "0 ns"}, {seconds, 100.4, "100 s"},
		{factor, 1.0304, "1.030"}, {percent, 7.125, "7.12 %"}, {points, 0.5, "0.50 points"}, {count, 12, "12"},
	} {
		if got := c.unit.format(c.v); got != c.want {
			t.Errorf("%v %q = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
