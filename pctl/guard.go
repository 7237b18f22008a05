package pctl

import "ptools/internal/guard"

// active is the guard of all Sessions, nil without one.
var active *guard.Guard

// Guard has breakpoints taken out of the text of controlled processes when this
// program is killed. It is to be called first thing in main, before flags are
// parsed and before any Session: the guard is this program executed again, in
// which Guard does not return. No process is started before a breakpoint is
// planted, and none is left when every process has been let go.
//
// The guard is orphaned on purpose: only a program that has made itself the
// subreaper of its descendants (prctl(2), PR_SET_CHILD_SUBREAPER) finds it among
// its children, when it has ended. Where there can be no guard nothing changes.
func Guard() {
	guard.Main()
	active = new(guard.Guard)
}
