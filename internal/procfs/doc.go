// Package procfs reads Linux's /proc.
//
// Every parser is a function of bytes alone and works on every platform; the
// functions that read the files sit beside them and, where the platform has
// no such /proc, return [errors.ErrUnsupported].
//
// A process or thread that does not exist, or that ended while its file was
// being read, is reported as syscall.ESRCH whichever way the kernel puts it
// (ENOENT from open, ESRCH from read). Errors of the functions that take a
// pid are *fs.PathError and name the file; errors of the methods of [Task],
// which are called thousands of times a second, are bare syscall.Errno values.
//
// Names and paths are the target's own bytes, with the kernel's escapes
// undone: they may hold control characters and invalid UTF-8, and code that
// prints them has to sanitise them.
package procfs
