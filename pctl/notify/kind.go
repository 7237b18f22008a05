package notify

import (
	"math/bits"
	"strconv"
	"strings"
)

// A Kind says what happened. Kinds are bits, so that a mask of them says
// which are wanted; an Event has exactly one.
type Kind uint32

const (
	Grabbed       Kind = 1 << iota // a running process came under control
	Created                        // a process was created under control
	Stopped                        // all threads stand at a rendezvous
	Continued                      // they run again
	Exec                           // a new program image
	Fork                           // a child with its own memory, let go
	Vfork                          // a child in the parent's memory
	ThreadStart                    // a thread was born
	ThreadExit                     // a thread ended
	Loaded                         // the run-time linker mapped an object
	Unloaded                       // and unmapped one
	Hit                            // a thread ran into a breakpoint
	BreakEnd                       // a breakpoint is no more: its text is gone
	Signal                         // a signal is delivered
	GroupStop                      // job control stopped the process
	GroupContinue                  // and continued it
	BreakRefused                   // a breakpoint could not be set where its symbol came to be
	Undead                         // the process is dead; its wait status is known
	Lost                           // control is lost, the process may live
	Released                       // the process was let go
	kinds                          // one past the last
)

// Terminal are the kinds that end a stream of events.
const Terminal = Undead | Lost | Released

// All are all kinds.
const All = kinds - 1

var kindNames = [...]string{
	"grabbed", "created", "stopped", "continued", "exec", "fork", "vfork", "thread-start", "thread-exit",
	"loaded", "unloaded", "hit", "break-end", "signal", "group-stop", "group-continue", "break-refused", "undead", "lost", "released",
}

// String returns the name that pgrab's JSON uses, such as "thread-start"; a
// mask is its names joined by "|", no kind is "none".
func (k Kind) String() string { return names(uint64(k), kindNames[:], "|") }

// A Point is a place where a process can be stopped for a rendezvous. Points
// are bits; a mask of them says at which to stop.
type Point uint8

const (
	Grab        Point = 1 << iota // as soon as a running process is under control
	Create                        // before a created process's first instruction
	PointExec                     // before the first instruction of a new image
	Preinit                       // objects are mapped and relocated, nothing of them has run
	Postinit                      // their initialisers have run
	Main                          // at the first instruction of main
	PointHit                      // where a breakpoint's handler asked for it
	PointSignal                   // before the delivery of a signal, likewise
)

var pointNames = [...]string{"grab", "create", "exec", "preinit", "postinit", "main", "hit", "signal"}

// String returns the name that pgrab's --stop takes, such as "grab"; a mask
// is its names joined by ",", no point is "none".
func (p Point) String() string { return names(uint64(p), pointNames[:], ",") }

// names spells the bits of a mask; a bit without a name is its number.
func names(mask uint64, of []string, sep string) string {
	if mask == 0 {
		return "none"
	}
	var parts []string
	for ; mask != 0; mask &= mask - 1 {
		bit := bits.TrailingZeros64(mask)
		if bit < len(of) {
			parts = append(parts, of[bit])
		} else {
			parts = append(parts, "bit"+strconv.Itoa(bit))
		}
	}
	return strings.Join(parts, sep)
}
