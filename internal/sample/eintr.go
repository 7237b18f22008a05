package sample

// givesEINTR lists the system calls in which a thread is never stopped.
// An interrupt, even one without a signal handler, makes them return EINTR
// instead of restarting (signal(7), "Interruption of system calls and library
// functions by stop signals"). A controller can put a thread back in front of
// such a call, but its relative timeout then begins again. A thread that waits
// in one of these shows only what a passive look sees.
var givesEINTR = map[string]bool{
	"epoll_wait":   true, // ep_poll returns -EINTR
	"epoll_pwait":  true, // the same
	"epoll_pwait2": true,

	"semop":      true, // -EINTR by POSIX
	"semtimedop": true,

	"rt_sigtimedwait": true, // -EAGAIN or -EINTR, never restarted

	// sock_intr_errno gives -EINTR if SO_RCVTIMEO or SO_SNDTIMEO is set,
	// which is not visible from outside.
	"connect":  true,
	"accept":   true,
	"accept4":  true,
	"sendto":   true,
	"recvfrom": true,
	"sendmsg":  true,
	"recvmsg":  true,
	"recvmmsg": true,
	"sendmmsg": true,

	"io_getevents":   true, // -EINTR
	"io_pgetevents":  true,
	"io_uring_enter": true, // -EINTR if nothing was submitted
}
