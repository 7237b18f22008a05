package sample

import (
	"cmp"
	"context"
	"errors"
	"time"

	"ptools/internal/goroutines"
	"ptools/internal/gotime"
	"ptools/internal/profile"
	"ptools/internal/source"
)

// blockedIn are the states of goroutines that wait for each other, which is what block profiles of Go programs are about. Those that
// sleep, or wait for the network, do not.
var blockedIn = map[string]bool{
	"chan receive": true, "chan send": true, "select": true, "semacquire": true, "sync.Cond.Wait": true, "sync.Mutex.Lock": true,
	"sync.RWMutex.RLock": true, "sync.RWMutex.Lock": true, "sync.WaitGroup.Wait": true, "coroutine": true,
}

// ErrNoGo is the error for a program without goroutines.
var ErrNoGo = goroutines.ErrNone

// longestFirst is how much later than it should the first reading may come.
const longestFirst = 10 * time.Second

var errLate = errors.New("its goroutines could not be read in time")

// Blocked samples for some time how long the goroutines of a process wait for each other. There is at least one reading. Nothing is
// stopped, and threads are not looked at. The error is ErrNoGo for a program of another language.
func Blocked(ctx context.Context, pid int, files *source.Files, period, d time.Duration) (*profile.Profile, error) {
	image, err := source.OpenImage(pid, files, true)
	if err != nil {
		return nil, err
	}
	defer image.Close()
	p := profile.New()
	p.Subject, p.Start, p.Period = profile.Block, time.Now(), period
	space := p.Space(pid, image.Executable(), image)
	sampler := gotime.Start(min(period, d/2), false, image.(goProgram).Goroutines())
	defer sampler.Close()
	over, late := time.NewTimer(d), time.NewTimer(d+longestFirst)
	defer over.Stop()
	defer late.Stop()
	look := time.NewTicker(max(d/1000, 10*time.Millisecond))
	defer look.Stop()
	ends := false
	covered := time.Duration(0)
	for wanted := true; wanted; wanted = wanted && !(ends && covered > 0) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over.C:
			ends = true
		case <-late.C:
			return nil, cmp.Or(sampler.Err(), errLate)
		case <-look.C:
		}
		rounds := sampler.Take()
		for _, r := range rounds {
			covered += r.Length
			countRound(p, space, pid, r)
		}
		switch err := sampler.Err(); {
		case errors.Is(err, goroutines.ErrNone) || errors.Is(err, goroutines.ErrVersion) || errors.Is(err, gotime.ErrOver):
			if covered == 0 {
				return nil, err
			}
			wanted = false // what was read counts
		}
	}
	p.Duration = time.Since(p.Start)
	if covered > 0 {
		space.StretchGoroutines(float64(p.Duration) / float64(covered))
	}
	p.Resolve() // while its files are open
	return p, nil
}
