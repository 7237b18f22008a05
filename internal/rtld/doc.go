// Package rtld reads what the run-time linker of a process publishes in the memory of that process:
// where its rendezvous structure is ([Find]), and which objects it has mapped ([Read]). For programs
// without symbols it also finds the address of main, from the code at the entry point
// ([MainFromEntry]).
//
// The linker keeps a struct r_debug for debuggers (<link.h>; the layout is the same in glibc and
// musl). It has a version, the head of the list of link maps, the address of an empty function, and
// a state. The linker calls that function before and after it changes the list; the state says which
// of the two this call is. The executable's DT_DEBUG entry points to the structure once the linker
// has started. glibc 2.35 and later chain one such structure per dlmopen namespace (version 2).
//
// All this is foreign memory: addresses may be wild, lists may loop, strings may not end. All
// reading is bounded, and no function panics, whatever the memory holds. The package plants no
// breakpoint and decides nothing. All functions may be called from any goroutine.
package rtld
