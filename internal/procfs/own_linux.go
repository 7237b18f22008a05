package procfs

// CheckOwn returns nil if the numbers of processes in /proc are those of our own PID namespace. Otherwise it
// returns ErrNotMounted or ErrForeign: a system call of ours finds another process under a number than /proc
// shows. /proc shows the namespace of the process that has mounted it. If that is not ours, the line NSpid of
// /proc/self/status has our number there, and one for each namespace from there to our own (pid_namespaces(7)).
func CheckOwn() error {
	var p path
	p.finish([]byte("/proc/self/status"))
	st, err := parsed(p, ParseStatus)
	switch {
	case Lacking(err):
		return err
	case err != nil:
		// Nothing is mounted, or something that does not show us at all.
		return ErrNotMounted
	}
	if len(st.NSpid) > 1 {
		return ErrForeign
	}
	return nil
}
