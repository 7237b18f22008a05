package calls

import (
	"errors"
	"os"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
)

// A Cost is what a hit of a probe takes of the target's processor time.
type Cost = perfevent.CallCost

// assumed is the cost where it cannot be measured: that of a virtual machine.
var assumed = Cost{Emulated: time.Microsecond, Stepped: 15 * time.Microsecond}

// MeasureCost measures what hits cost on this machine, where calls are reported as asked for. With an error the cost is assumed.
func MeasureCost(which CallReports) (Cost, error) {
	c, err := perfevent.MeasureCalls(which, ownOffset)
	if err != nil {
		return assumed, err
	}
	return c, nil
}

// ownOffset returns where an address of our text is in the file of this program.
func ownOffset(addr uint64) (uint64, error) {
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		return 0, err
	}
	for _, m := range maps {
		if m.Start <= addr && addr < m.End {
			return addr - m.Start + m.Off, nil
		}
	}
	return 0, errors.New("our own text is not mapped from a file")
}
