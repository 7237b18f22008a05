package main

import (
	"fmt"
	"math"
)

// unit is what the values of a row are, and how they are printed.
type unit string

const (
	perSecond unit = "1/s"
	seconds   unit = "s"
	factor    unit = "times" // of the time without any tool
	percent   unit = "%"
	points    unit = "points"
	count     unit = "count"
)

// format prints a value with three digits that matter.
func (u unit) format(v float64) string {
	switch u {
	case perSecond:
		return scaled(v, []scale{{1e6, " M/s"}, {1e3, " k/s"}, {1, " /s"}})
	case seconds:
		return scaled(v, []scale{{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}, {1e-9, " ns"}})
	case factor:
		return fmt.Sprintf("%.3f", v)
	case percent:
		return digits(v) + " %"
	case points:
		return fmt.Sprintf("%.2f points", v)
	}
	return digits(v)
}

type scale struct {
	size float64
	name string
}

// scaled prints a value in the first scale in which it is at least 1, or in the last.
func scaled(v float64, scales []scale) string {
	for _, s := range scales {
		if math.Abs(v) >= s.size {
			return digits(v/s.size) + s.name
		}
	}
	last := scales[len(scales)-1]
	return digits(v/last.size) + last.name
}

// digits prints three significant digits of numbers below 1000.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a == math.Trunc(a) && a < 1e6:
		return fmt.Sprintf("%.0f", v)
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
