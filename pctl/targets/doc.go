// Package targets finds the processes that rules ask for, and follows them: through exec, to their children if a rule
// says so, to their end.
//
// It reads /proc each half second (Watcher.Run). A process that was just started is looked at then, and again at each reading
// for three seconds, since it may only have been forked and be about to execute its program. After that its name and
// executable are read every five seconds: that is how long it may take until another program in an older process is
// noticed. Otherwise a process that is known costs nothing but its entry in the listing of the directory.
//
// The identity of a process is its number and the time when it was started, so a number that comes again is another
// process. What a process executes changes its name and nothing else; but one that no rule asks for any more is not a
// target any more.
package targets
