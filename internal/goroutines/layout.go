package goroutines

import (
	"strconv"
	"strings"

	"ptools/internal/elfsym"
)

// A layout says where the runtime of a version of Go keeps what is read of it. All are offsets.
type layout struct {
	g     gLayout
	m     mLayout
	sudog sudogLayout
	bp    uint64 // in gobuf, behind sp, pc and g
	// bubbleID is in runtime.synctestBubble, from Go 1.25 on.
	bubbleID uint64
	reasons  []string
	labels   bool // a set of labels is a slice (from Go 1.24 on), and no map
}

// gLayout is runtime.g. What is 0 does not exist.
type gLayout struct {
	m, sched, syscallsp, syscallpc, syscallbp      uint64
	status, goid, waitsince, waitreason, lockedm   uint64
	parent, gopc, ancestors, startpc, sudog, label uint64
	// When a sleep ends is in the g from Go 1.23 on, before in the timer that it points to.
	until, timer uint64
	bubble       uint64 // of testing/synctest, from Go 1.24 on
}

// timerWhen is the offset of the moment in runtime.timer before Go 1.23.
const timerWhen = 8

// mLayout is runtime.m. tick changes with each system call.
type mLayout struct{ procid, tick uint64 }

// sudogLayout is runtime.sudog, which is an entry of a queue of waiting goroutines.
type sudogLayout struct{ next, channel uint64 }

// size is how much of a g is read: up to the last field that is used, and what counts its runs, which is before that.
func (l *layout) size() uint64 {
	return max(l.g.label, l.g.sudog, l.g.startpc, l.g.waitreason, l.g.lockedm, l.g.until, l.g.timer, l.g.bubble) + 8
}

// maxG bounds the size of a g.
const maxG = 4096

// layouts are those of the versions of Go by their second number, as debug information of programs has them.
var layouts = []struct {
	from, to int
	layout
}{
	{18, 20, layout{
		g: gLayout{m: 48, sched: 56, syscallsp: 112, syscallpc: 120, status: 144, goid: 152, waitsince: 168, waitreason: 176,
			lockedm: 232, gopc: 296, ancestors: 304, startpc: 312, sudog: 328, label: 360, timer: 368},
		m: mLayout{72, 668}, sudog: sudogLayout{64, 80}, bp: 48}},
	{21, 21, layout{
		g: gLayout{m: 48, sched: 56, syscallsp: 112, syscallpc: 120, status: 144, goid: 152, waitsince: 168, waitreason: 176,
			lockedm: 208, parent: 272, gopc: 280, ancestors: 288, startpc: 296, sudog: 312, label: 344, timer: 352},
		m: mLayout{72, 664}, sudog: sudogLayout{64, 80}, bp: 48}},
	{22, 22, layout{
		g: gLayout{m: 48, sched: 56, syscallsp: 112, syscallpc: 120, status: 144, goid: 152, waitsince: 168, waitreason: 176,
			lockedm: 208, parent: 272, gopc: 280, ancestors: 288, startpc: 296, sudog: 312, label: 344, timer: 352},
		m: mLayout{72, 952}, sudog: sudogLayout{64, 80}, bp: 48}},
	{23, 23, layout{
		g: gLayout{m: 48, sched: 56, syscallsp: 112, syscallpc: 120, syscallbp: 128, status: 152, goid: 160, waitsince: 176, waitreason: 184,
			lockedm: 216, parent: 280, gopc: 288, ancestors: 296, startpc: 304, sudog: 320, label: 352, until: 368},
		m: mLayout{72, 764}, sudog: sudogLayout{64, 80}, bp: 48}},
	{24, 24, layout{
		g: gLayout{m: 48, sched: 56, syscallsp: 112, syscallpc: 120, syscallbp: 128, status: 152, goid: 160, waitsince: 176, waitreason: 184,
			lockedm: 216, parent: 280, gopc: 288, ancestors: 296, startpc: 304, sudog: 320, label: 352, until: 368, bubble: 392},
		m: mLayout{72, 764}, sudog: sudogLayout{64, 80}, bp: 48}},
	{25, 25, layout{
		g: gLayout{m: 48, sched: 56, syscallsp: 104, syscallpc: 112, syscallbp: 120, status: 144, goid: 152, waitsince: 168, waitreason: 176,
			lockedm: 208, parent: 272, gopc: 280, ancestors: 288, startpc: 296, sudog: 312, label: 344, until: 360, bubble: 384},
		m: mLayout{64, 756}, sudog: sudogLayout{64, 80}, bp: 40, bubbleID: 72}},
	{26, 26, layout{
		g: gLayout{m: 48, sched: 56, syscallsp: 104, syscallpc: 112, syscallbp: 120, status: 144, goid: 152, waitsince: 168, waitreason: 176,
			lockedm: 208, parent: 280, gopc: 288, ancestors: 296, startpc: 304, sudog: 320, label: 352, until: 368, bubble: 392},
		m: mLayout{64, 788}, sudog: sudogLayout{72, 96}, bp: 40, bubbleID: 72}},
}

// minor returns the second number of a version of Go 1, and whether it is a plain one: that of a development tree, or with
// experiments, may have another layout than the release.
func minor(version string) (n int, plain bool) {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.Atoi(rest[:end])
	return n, err == nil && !strings.ContainsAny(version, " -+")
}

// tabled returns the layout of a version from the table.
func tabled(version string) (layout, bool) {
	n, plain := minor(version)
	for _, l := range layouts {
		if plain && l.from <= n && n <= l.to {
			l.reasons, l.labels = reasonsOf(n), n >= 24
			return l.layout, true
		}
	}
	return layout{}, false
}

// described returns the layout that debug information has.
func described(f *elfsym.GoTable) (layout, bool) {
	types := f.Structs("runtime.g", "runtime.m", "runtime.sudog", "runtime.gobuf", "runtime.synctestBubble")
	g, m, s, buf := types["runtime.g"], types["runtime.m"], types["runtime.sudog"], types["runtime.gobuf"]
	for name, in := range map[string]map[string]uint64{"goid": g, "sched": g, "atomicstatus": g, "startpc": g, "waiting": g, "labels": g, "procid": m, "syscalltick": m, "c": s, "bp": buf} {
		if _, ok := in[name]; !ok {
			return layout{}, false
		}
	}
	n, _ := minor(f.Version())
	l := layout{
		g: gLayout{m: g["m"], sched: g["sched"], syscallsp: g["syscallsp"], syscallpc: g["syscallpc"], syscallbp: g["syscallbp"],
			status: g["atomicstatus"], goid: g["goid"], waitsince: g["waitsince"], waitreason: g["waitreason"], lockedm: g["lockedm"],
			parent: g["parentGoid"], gopc: g["gopc"], ancestors: g["ancestors"], startpc: g["startpc"], sudog: g["waiting"], label: g["labels"]},
		m:     mLayout{m["procid"], m["syscalltick"]},
		sudog: sudogLayout{s["waitlink"], s["c"]},
		bp:    buf["bp"], reasons: reasonsOf(n), labels: n >= 24,
	}
	if l.g.until = g["sleepWhen"]; l.g.until == 0 {
		l.g.timer = g["timer"]
	}
	if l.g.bubble = g["syncGroup"]; l.g.bubble == 0 {
		l.g.bubble, l.bubbleID = g["bubble"], types["runtime.synctestBubble"]["id"]
	}
	if s["acquiretime"]-s["elem"] == 16 {
		l.sudog.channel += 8 // from 1.26 on a pointer for the garbage collector comes before each address
	}
	for _, off := range []uint64{l.size(), l.g.sched + l.bp + 8, l.g.syscallpc + 8, l.g.gopc + 8, l.g.parent + 8, l.g.status + 8} {
		if off > maxG {
			return layout{}, false
		}
	}
	return l, l.m.procid <= maxG && l.m.tick <= maxG && max(l.sudog.channel, l.sudog.next, l.bubbleID) <= maxG
}
