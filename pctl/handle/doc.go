// Package handle keeps handles on processes: what a process is (its pid, its
// start time, a pidfd), what is mapped in it, and how many references there are.
//
// # Spaces
//
// A [Space] is the map of one address space: which object, function and line is
// at an address. It reads the list of mappings when it is made and when it is
// refreshed. It opens an object's file only when a program counter inside the
// object is looked up, so that a process with 500 libraries costs nothing at
// first. A Space looks things up in an immutable mapState behind an atomic
// pointer. So a look-up takes no lock, and any number of goroutines may look up
// addresses while one refreshes.
//
// # Registry
//
// A [Registry] hashes handles by pid and counts the references to them.
// Clients that grab the same process share one [Handle]. A read-only handle that
// is not referenced any more stays cached. The cache has a limit; the least
// recently used handle leaves first. So the cost of a read-only grab (reading the
// map, opening files, finding symbols) is paid once. A grab for control replaces
// a read-only handle. The old handle becomes stale: its holders keep using it,
// and their releases do not touch the new one. A read-only grab of a process
// under control shares the control handle.
//
// A pid alone does not identify a process: every handle holds a pidfd and the
// start time. A cached handle of a process that has ended is never returned for
// another process with the same number.
package handle
