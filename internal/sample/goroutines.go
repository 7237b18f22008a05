package sample

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ptools/internal/goroutines"
	"ptools/internal/gotime"
	"ptools/internal/profile"
)

// goroutining counts the time of the goroutines of a process, of one image after the other.
type goroutining struct {
	p       *process
	sampler *gotime.Sampler // nil: none are sampled
	began   time.Duration
	covered time.Duration // for which the rounds stand
	why     string        // no rounds are taken, as the profile has it
}

// goProgram is the part of a source.Image that reads goroutines. An image of another kind has none.
type goProgram interface {
	Goroutines() gotime.Program
}

// begin begins with an image that was opened just now.
func (g *goroutining) begin() {
	s := g.p.sampler
	image, ok := g.p.image.(goProgram)
	if !ok || s.opt.Beside == Nothing || g.p.kin != nil {
		return
	}
	g.began, g.covered, g.why = s.clock.Now(), 0, ""
	g.sampler = gotime.Start(s.opt.Period, s.opt.Beside == EachGoroutine, image.Goroutines())
}

// count takes over what was read since the last call.
func (g *goroutining) count() {
	if g.sampler == nil {
		return
	}
	for _, r := range g.sampler.Take() {
		g.covered += r.Length
		countRound(g.p.sampler.profile, g.p.space, g.p.PID, r)
	}
	why := ""
	if err := g.sampler.Err(); err != nil && !errors.Is(err, goroutines.ErrNone) && !errors.Is(err, gotime.ErrOver) {
		why = fmt.Sprintf("not read: %v", err)
	}
	if of := &g.p.sampler.profile.Goroutines; why != g.why {
		if why != "" || of.Why == g.why { // not that of another process
			of.Why = why
		}
		g.why = why
	}
}

// countRound counts what a round has met of a process. A profile of Subject Block has those only that wait for others, and how
// often they were met.
func countRound(p *profile.Profile, space *profile.Space, pid int, r *gotime.Round) {
	p.Goroutines.Add(profile.GoroutineRounds{Rounds: 1, Took: r.Took, Goroutines: int64(r.Goroutines), Unread: int64(r.Unread), Unsettled: int64(r.Unsettled)})
	var levels []profile.Addr
	for _, sight := range r.Sights {
		if p.Subject == profile.Block && !blockedIn[strings.TrimSuffix(sight.State, " (durable)")] {
			continue
		}
		levels = append(levels[:0], p.Note("["+sight.State+"]"))
		for _, f := range sight.Frames {
			levels = append(levels, profile.Addr{PC: f.PC, Kind: profile.KindOf(f.Return, f.Signal)})
		}
		var labels []string
		if sight.ID != 0 {
			labels = append(labels, profile.NumberLabel, strconv.FormatUint(sight.ID, 10))
		}
		for _, l := range sight.Labels {
			labels = append(labels, l.Key, l.Value)
		}
		v := profile.Values{Goroutines: int64(sight.Count) * int64(r.Length)}
		if p.Subject == profile.Block {
			v.Samples = int64(sight.Count)
		}
		space.Add(space.Cell(p.GoroutineSet(pid, labels), space.Stack(levels)), v)
	}
}

// end ends the sampling of an image, before that is closed.
func (g *goroutining) end() {
	if g.sampler == nil {
		return
	}
	s := g.p.sampler
	ended := s.sched.ended // a reading that is under way may take another second
	if ended == 0 {
		ended = s.clock.Now()
	}
	g.sampler.Close()
	g.count()
	if g.covered > 0 && !s.opt.Marked {
		g.p.space.StretchGoroutines(float64(ended-max(g.began, s.sched.start)) / float64(g.covered))
	}
	g.sampler = nil
}
