// Package elfsym reads one ELF file: which function covers an address, where
// a name is defined, which source line an address comes from, its build id,
// and its unwind tables.
//
// # Laziness
//
// New reads only the ELF header and the two header tables. Every other table
// is read when it is first needed, and then kept in a compact form: the
// address index is 12 bytes a function, names stay in the file and are read
// one at a time, DWARF is read one compilation unit at a time. Files are read
// with pread, and no mapping is accessed directly: a file that is truncated
// while it is being read gives an error instead of SIGBUS.
//
// # Hostile files
//
// The file belongs to the user that runs the profiled program, and the reader
// may be root. Every offset, count and length is checked against the size of
// what holds it before memory is allocated for it. Loops that follow links in
// the file have a bound on their steps, and decompression has a bound on its
// output. An invalid part is treated as absent, so a file with a damaged symbol
// table still has its segments and its build id.
//
// # Concurrency
//
// A File never changes after New. All its methods may be called from any
// goroutine; parts that are built on first use are built once. A Cache
// returns the same File to all that open the same file.
//
// # Addresses
//
// All addresses are those of the file (link-time virtual addresses): the
// caller subtracts the load bias of the mapping.
package elfsym
