package notify

import "strconv"

// A Kind says what happened.
type Kind uint8

const (
	Grabbed       Kind = iota + 1 // a running process came under control
	Created                       // a process was created under control
	Stopped                       // all threads are stopped at a rendezvous
	Continued                     // they run again
	Exec                          // a new program image
	Fork                          // a child with its own memory
	Vfork                         // a child in the parent's memory
	ThreadStart                   // a thread was born
	ThreadExit                    // a thread ended
	Loaded                        // the run-time linker mapped an object
	Unloaded                      // the run-time linker unmapped an object
	Hit                           // a thread hit a breakpoint
	BreakEnd                      // a breakpoint has ended: its text is gone
	Signal                        // a signal is delivered
	GroupStop                     // job control stopped the process
	GroupContinue                 // job control continued the process
	BreakRefused                  // a breakpoint could not be set where its symbol was loaded
	Followed                      // a process that another one has made came under control
	Unfollowed                    // such a process could not be taken under control
	Undead                        // the process is dead; its wait status is known
	Lost                          // control is lost, the process may live
	Released                      // the process was let go
)

var kindNames = [...]string{
	"none", "grabbed", "created", "stopped", "continued", "exec", "fork", "vfork", "thread-start", "thread-exit",
	"loaded", "unloaded", "hit", "break-end", "signal", "group-stop", "group-continue", "break-refused", "followed", "unfollowed", "undead", "lost", "released",
}

// String returns the name that pgrab's JSON uses, such as "thread-start".
func (k Kind) String() string { return name(uint8(k), kindNames[:], "kind") }

// Terminal reports whether the event is the last one of every stream.
func (k Kind) Terminal() bool { return k == Undead || k == Lost || k == Released }

// A set is a set of kinds, one bit each.
type set uint32

func (s set) has(k Kind) bool { return s&(1<<k) != 0 }

// terminal are the kinds that end a stream.
const terminal = set(1<<Undead | 1<<Lost | 1<<Released)

// setOf returns the set of some kinds and the terminal kinds.
func setOf(kinds []Kind) set {
	s := terminal
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// A Point is a place where a process can be stopped for a rendezvous.
type Point uint8

const (
	Grab        Point = iota + 1 // as soon as a running process is under control
	Create                       // before a created process's first instruction
	PointExec                    // before the first instruction of a new image
	Preinit                      // objects are mapped and relocated, none of their code has run
	Postinit                     // their initialisers have run
	Main                         // at the first instruction of main
	PointHit                     // where a breakpoint's handler asked for it
	PointSignal                  // before the delivery of a signal, likewise
)

var pointNames = [...]string{"none", "grab", "create", "exec", "preinit", "postinit", "main", "hit", "signal"}

// String returns the name that pgrab's --stop takes, such as "grab".
func (p Point) String() string { return name(uint8(p), pointNames[:], "point") }

// Points is a set of points, one bit each.
type Points uint16

// PointsOf returns the set of points.
func PointsOf(points ...Point) Points {
	var s Points
	for _, p := range points {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in the set.
func (s Points) Has(p Point) bool { return s&(1<<p) != 0 }

// Take removes p, and reports whether it was in the set.
func (s *Points) Take(p Point) bool {
	had := s.Has(p)
	*s &^= 1 << p
	return had
}

// name returns the name of a constant. A constant without a name is its number.
func name(n uint8, of []string, what string) string {
	if int(n) < len(of) {
		return of[n]
	}
	return what + strconv.Itoa(int(n))
}
