package main

import (
	"fmt"
	"time"

	"ptools/internal/clean"
	"ptools/pctl"
)

// mostDescribed is how many descriptors are described: the processes at their other ends are looked for among all.
const mostDescribed = 256

// filesOf describes the descriptors that groups wait for, as far as they are shown.
func filesOf(p *pctl.Process, groups []*pctl.GoroutineGroup) map[pctl.GoPoll]pctl.OpenFile {
	var wanted []*pctl.Goroutine
	for _, of := range groups {
		n := 0
		for _, g := range of.Goroutines {
			if g.Poll.Known && n < mostListed && len(wanted) < mostDescribed {
				wanted = append(wanted, g)
				n++
			}
		}
	}
	return pctl.PolledFiles(p, wanted)
}

// appendGoWaits prints what the goroutines of a group wait for, and how many for what.
func appendGoWaits(b []byte, of *pctl.GoroutineGroup, files map[pctl.GoPoll]pctl.OpenFile) []byte {
	things := make(map[string]int)
	var polls []pctl.GoPoll
	known := make(map[pctl.GoPoll]bool)
	for _, g := range of.Goroutines {
		for _, c := range g.Channels {
			things[fmt.Sprintf("channel %#x", c)]++
		}
		if g.Lock.Kind != "" {
			text := fmt.Sprintf("%s %#x", g.Lock.Kind, g.Lock.Addr)
			if name, offset := g.Variable(); offset != 0 {
				text += fmt.Sprintf(" (%s+%d)", clean.Text(name), offset)
			} else if name != "" {
				text += " (" + clean.Text(name) + ")"
			}
			things[text]++
		}
		if g.Poll.Known && !known[g.Poll] {
			known[g.Poll] = true
			polls = append(polls, g.Poll)
		}
	}
	if len(things) > 0 {
		b = fmt.Appendf(b, "    waits for %s\n", counted(things))
	}
	b = appendSleep(b, of)
	for i, poll := range polls {
		f, ok := files[poll]
		if !ok || i == mostListed {
			return fmt.Appendf(b, "    and for %s\n", plural(len(polls)-i, "other descriptor"))
		}
		if poll.Write {
			b = fmt.Appendf(b, "    waits to write to %s\n", f.String())
		} else {
			b = fmt.Appendf(b, "    waits to read from %s\n", f.String())
		}
	}
	return b
}

// appendSleep says how long the sleeps of a group will last.
func appendSleep(b []byte, of *pctl.GoroutineGroup) []byte {
	var least, most time.Duration
	for _, g := range of.Goroutines {
		if g.Left > 0 && (least == 0 || g.Left < least) {
			least = g.Left
		}
		most = max(most, g.Left)
	}
	short := func(d time.Duration) time.Duration {
		if d > time.Second {
			return d.Round(10 * time.Millisecond)
		}
		return d.Round(10 * time.Microsecond)
	}
	switch {
	case most == 0:
		return b
	case least == most:
		return fmt.Appendf(b, "    sleeps for %v more\n", short(most))
	}
	return fmt.Appendf(b, "    sleep for %v to %v more\n", short(least), short(most))
}
