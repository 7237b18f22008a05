// Package procfs reads Linux's /proc.
//
// Every parser is a function of bytes alone, and works on every platform. The
// functions that read the files are beside the parsers. On a platform without
// such a /proc they return [errors.ErrUnsupported].
//
// The error is syscall.ESRCH for a process or thread that does not exist, or
// that ended while its file was being read. The kernel itself may say ENOENT
// (from open) or ESRCH (from read). Errors of the functions that take a pid are
// *fs.PathError and name the file. Errors of the methods of [Task] are bare
// syscall.Errno values, because they are called thousands of times a second.
//
// Names and paths are the target's own bytes, with the kernel's escapes
// undone. They may hold control characters and invalid UTF-8. Code that prints
// them has to sanitise them.
package procfs
