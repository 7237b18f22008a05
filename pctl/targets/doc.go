// Package targets finds the processes that rules ask for. It follows each through exec until its end, and to its
// children if a rule says so.
//
// It reads /proc each half second (Watcher.Run). A process that was just started is looked at in each reading for three
// seconds, because it may only have been forked and be about to execute its program. After that its name and executable
// are read every five seconds. So it may take that long until another program in an older process is noticed. Otherwise a
// known process costs only its entry in the listing of the directory.
//
// The identity of a process is its number and the time when it was started, so a number that comes again is another
// process. An exec changes the name of a process, and not its identity; but a process that no rule asks for any more
// is no target any more.
package targets
