package sample

import (
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
)

// fewLiving is the number of processes up to which they are compared with /proc each second, even if no record was
// lost.
const fewLiving = 200

// sweeps says when the living processes were compared with /proc.
type sweeps struct {
	last time.Duration
	due  bool // records were lost since then
}

// sweep looks for processes whose record of the end was lost.
func (t *tree) sweep() {
	now := perfevent.Now()
	if now-t.sweeps.last < time.Second || !t.sweeps.due && len(t.living) > fewLiving {
		return
	}
	t.sweeps = sweeps{last: now}
	for _, k := range t.living {
		if stat, err := procfs.ReadStat(k.pid); err == nil && !stat.Ended() {
			continue
		}
		if k.gone { // it has been gone for a second: its record would have been read
			t.died(k, now)
		}
		k.gone = true
	}
}
