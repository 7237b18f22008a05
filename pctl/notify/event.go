package notify

import "time"

// An Event is one thing that happened to a process. Which fields are set
// depends on Kind; Time, PID and Kind always are. Paths and symbols are the
// target's own bytes: a caller that prints them has to sanitise them.
type Event struct {
	Time time.Time
	PID  int
	TID  int // the thread concerned; 0 if it is the whole process
	Kind Kind

	Threads int   // Grabbed, Stopped: how many; Released: how many stop only when they wake
	Point   Point // Stopped: where

	Exited bool // Undead: by exit, with Code; otherwise by Signal
	Code   int  // Undead, ThreadExit: exit status
	Signal int  // Undead, ThreadExit, GroupStop: by which; Signal: which
	Core   bool // Undead: a core was dumped

	Path      string // Exec, Loaded, Unloaded: of the image
	Base      uint64 // Loaded, Unloaded: its load bias (l_addr)
	Namespace int    // Loaded, Unloaded: of the run-time linker; 0 is the main one

	Addr   uint64 // Hit, BreakEnd, BreakRefused: of the breakpoint; 0: refused in an Object that could not be read
	Symbol string // Hit, BreakEnd, BreakRefused: function around it
	Offset uint64 // Hit, BreakEnd, BreakRefused: of Addr in Symbol
	Object string // Hit, BreakRefused: file name of the object around it
	Hits   uint64 // Hit, BreakEnd: of this breakpoint so far, this one included
	Late   bool   // Hit: the thread has continued since, and is elsewhere

	Attached any // Hit: what the handler of the breakpoint has attached

	Child  int    // Fork, Vfork, Unfollowed: its PID; ThreadStart: its TID
	Parent int    // Followed: PID of the process that it follows
	Mode   string // Released: "running", "killed", "stopped"
	Err    error  // Lost, BreakEnd, BreakRefused, Unfollowed: why; Exec, Created: what the program lacks because it is traced
}
