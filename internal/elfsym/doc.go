// Package elfsym answers questions about one ELF file: which function covers
// an address, where a name is defined, which source line an address came
// from, what its build id is, where its unwind tables are.
//
// # Laziness
//
// New reads the ELF header and the two header tables, nothing else. Every
// table is read on the first question that needs it and then kept in its most
// compact form: the address index is 12 bytes a function, names stay in the
// file and are read one at a time, DWARF is read one compilation unit at a
// time. The files are read with pread, never mapped: a file that is truncated
// while it is being read gives an error instead of SIGBUS.
//
// # Hostile files
//
// The file belongs to the user that runs the profiled program, the reader may be
// root. Every offset, count and length is checked against the size of what
// holds it before memory is taken for it; loops that follow links in the file
// have a bound on their steps; decompression has a bound on its output. A part
// that makes no sense is treated as absent, so a file with a damaged symbol
// table still has its segments and its build id.
//
// # Concurrency
//
// A File never changes after New. All its methods may be called from any
// goroutine; what is built on first use is built once. A Cache hands the same
// File to all that open the same file.
//
// # Addresses
//
// All addresses are those of the file (link-time virtual addresses): the
// caller subtracts the load bias of the mapping.
package elfsym
