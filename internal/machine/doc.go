// Package machine is the processor that this program is built for: its registers, and how a thread gets past an
// instruction. It has only other names for what package x86 or package a64 has. The packages that deal with
// threads import it and neither of those two, so that each compiles for both.
package machine
