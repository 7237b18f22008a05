package procfs

// CheckOwn returns nil if the numbers of processes in /proc are those of our own PID namespace, and
// ErrNotMounted or ErrForeign if they are not: the process that a system call of ours finds under a
// number is another one than /proc shows there. /proc shows the namespace of the process that has mounted it;
// in /proc/self/status the line NSpid then has our number there, and one for each namespace from
// there to our own (pid_namespaces(7)).
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
