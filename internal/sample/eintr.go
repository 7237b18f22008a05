package sample

// givesEINTR lists the x86-64 system calls in which a thread is never stopped.
// An interrupt, even one without a signal handler, makes them return EINTR
// instead of restarting (signal(7), "Interruption of system calls and library
// functions by stop signals"). A controller can put a thread back in front of
// such a call, but its relative timeout then begins again. A thread that waits
// in one of these shows only what a passive look sees.
var givesEINTR = map[int64]string{
	232: "epoll_wait",  // ep_poll returns -EINTR
	281: "epoll_pwait", // the same
	441: "epoll_pwait2",

	65:  "semop", // -EINTR by POSIX
	220: "semtimedop",

	128: "rt_sigtimedwait", // -EAGAIN or -EINTR, never restarted

	// sock_intr_errno gives -EINTR if SO_RCVTIMEO or SO_SNDTIMEO is set,
	// which is not visible from outside.
	42:  "connect",
	43:  "accept",
	288: "accept4",
	44:  "sendto",
	45:  "recvfrom",
	46:  "sendmsg",
	47:  "recvmsg",
	299: "recvmmsg",
	307: "sendmmsg",

	208: "io_getevents", // -EINTR
	333: "io_pgetevents",
	426: "io_uring_enter", // -EINTR if nothing was submitted
}
