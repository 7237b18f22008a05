package pctl

import (
	"strings"

	"ptools/pctl/notify"
)

// Kind says what happened to a process.
type Kind uint8

// Kinds of events, with the fields of an Event that are set beside Time, PID and Kind.
// KindUndead, KindLost and KindReleased end a stream.
const (
	KindGrabbed       Kind = Kind(notify.Grabbed)       // under control: Threads
	KindCreated       Kind = Kind(notify.Created)       // under control, by Session.Create: Path, Threads; Err if its file's rights were withheld
	KindStopped       Kind = Kind(notify.Stopped)       // at a rendezvous: Point, Threads
	KindContinued     Kind = Kind(notify.Continued)     // from it
	KindExec          Kind = Kind(notify.Exec)          // another program: Path; Err if its file's rights were withheld
	KindFork          Kind = Kind(notify.Fork)          // a child with its own memory: TID, Child. Let go unless it is followed
	KindVfork         Kind = Kind(notify.Vfork)         // a child in the process's memory, also of posix_spawn(3): TID, Child
	KindThreadStart   Kind = Kind(notify.ThreadStart)   // TID of the new thread; Child: the same
	KindThreadExit    Kind = Kind(notify.ThreadExit)    // TID; Code, or Signal that killed it
	KindLoaded        Kind = Kind(notify.Loaded)        // an object, by the run-time linker: Path, Base, Namespace
	KindUnloaded      Kind = Kind(notify.Unloaded)      // Path, Base, Namespace
	KindHit           Kind = Kind(notify.Hit)           // of a breakpoint: TID, Addr, Symbol, Offset, Object, Hits, Late
	KindBreakEnd      Kind = Kind(notify.BreakEnd)      // a breakpoint's text is gone: Addr, Symbol, Offset, Hits, Err
	KindSignal        Kind = Kind(notify.Signal)        // delivered: TID, Signal
	KindGroupStop     Kind = Kind(notify.GroupStop)     // by job control or a SIGSTOP: TID, Signal
	KindGroupContinue Kind = Kind(notify.GroupContinue) // by a SIGCONT: TID, Signal
	KindBreakRefused  Kind = Kind(notify.BreakRefused)  // a breakpoint could not be set at its symbol: Addr, Symbol, Offset, Object, Err
	KindFollowed      Kind = Kind(notify.Followed)      // under control, because its parent is (Follow): Threads, Parent
	KindUnfollowed    Kind = Kind(notify.Unfollowed)    // a process that it has made is not followed: Child, Err
	KindUndead        Kind = Kind(notify.Undead)        // the process has ended: TID of its last thread, Exited and Code, or Signal and Core; neither if its status is unknown
	KindLost          Kind = Kind(notify.Lost)          // control has ended, the process perhaps not: Err
	KindReleased      Kind = Kind(notify.Released)      // let go: Mode, Threads

	// KindCall is a call of a function that has ended: TID, Call. Only a Calls has such events.
	KindCall Kind = KindReleased + 1
)

// String returns the name that pgrab's JSON uses, such as "thread-start".
func (k Kind) String() string {
	if k == KindCall {
		return "call"
	}
	return notify.Kind(k).String()
}

// Terminal reports whether an event of the kind is the last one of its stream.
func (k Kind) Terminal() bool { return notify.Kind(k).Terminal() }

// Point is a place where a process can be stopped for a rendezvous.
type Point uint8

// Rendezvous points. The zero Point is none.
const (
	PointGrab     Point = Point(notify.Grab)      // a running process has been attached to
	PointCreate   Point = Point(notify.Create)    // before the first instruction of a created one
	PointExec     Point = Point(notify.PointExec) // the same after a later exec
	PointPreinit  Point = Point(notify.Preinit)   // objects are linked, no initialiser has run
	PointPostinit Point = Point(notify.Postinit)  // initialisers have run
	PointMain     Point = Point(notify.Main)      // before main's first instruction
	// Where a Handler or a Catch asked for one (Hold); these are not for asking.
	PointHit    Point = Point(notify.PointHit)
	PointSignal Point = Point(notify.PointSignal)
)

// String returns the name that pgrab's --stop takes, such as "main".
func (p Point) String() string { return notify.Point(p).String() }

// places are points as control knows them.
func places(points []Point) []notify.Point {
	list := make([]notify.Point, len(points))
	for i, p := range points {
		list[i] = notify.Point(p)
	}
	return list
}

// names are those of points, as pgrab's --stop takes them.
func names(points []Point) string {
	list := make([]string, len(points))
	for i, p := range points {
		list[i] = p.String()
	}
	return strings.Join(list, ",")
}
