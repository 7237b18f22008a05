// Package a64 decodes instructions of 64-bit arm (AArch64), as far as unwinding and the recognition of system calls need it. Every
// instruction has four bytes, in little-endian order whatever the byte order of data is. Words and registers go in, and
// what an instruction does comes out. The package knows no process.
package a64
