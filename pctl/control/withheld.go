package control

import "errors"

// A traced program does not get the rights of its file unless its tracer has CAP_SYS_PTRACE
// (cap_bprm_creds_from_file in security/commoncap.c, LSM_UNSAFE_PTRACE). The kernel decides that before it
// reports the execve, so it cannot be prevented.

// errWithheld is why a program that was executed lacks rights.
var errWithheld = errors.New("without the rights of its file (set-user-ID, set-group-ID or capabilities): the kernel withholds them, since the program is traced")
