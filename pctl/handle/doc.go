// Package handle keeps handles on processes: what a process is (its pid, its
// start time, a pidfd), what is mapped in it, and how many references there are.
//
// # Spaces
//
// A [Space] is the map of one address space: which object's code is at an
// address, which function and line. It reads the list of mappings when it is
// made and when it is refreshed; an object's file is opened only when a
// program counter inside it is asked for, so that a process with 500
// libraries costs nothing up front. What a Space answers comes from an
// immutable mapState behind an atomic pointer: looking up an address takes no
// lock, and any number of goroutines may do so while one refreshes.
//
// # Registry
//
// A [Registry] hashes handles by pid and counts the references to them.
// Clients that grab the same process share one [Handle]. A handle that was
// grabbed read-only and is not referenced any more stays cached, up to a
// limit, the least recently used leaving first; what a read-only grab costs
// (reading the map, opening files, finding symbols) is then paid once. A grab
// for control supersedes a read-only handle: that one becomes stale, its
// holders keep using it, and their releasing it never touches its successor.
// A read-only grab of a process under control shares the control handle.
//
// A pid alone is no identity: every handle holds a pidfd and the start time,
// and a cached handle of a process that has ended is never returned for
// another process that got its number.
package handle
