// Package rtld reads what the run-time linker of a process says about itself, out of the memory of
// that process: where its rendezvous structure is ([Find]), and which objects it has mapped
// ([Read]). It also tells main's address from the code at a program's entry point
// ([MainFromEntry]), for programs without symbols.
//
// The linker keeps a struct r_debug for debuggers (<link.h>; the layout is the same in glibc and
// musl): a version, the head of the list of link maps, the address of an empty function that it
// calls before and after it changes the list, and a state that says which of the two this call is.
// The executable's DT_DEBUG entry points to it once the linker has started. glibc 2.35 and later
// chain one such structure per dlmopen namespace (version 2).
//
// Everything here is foreign memory: addresses may be wild, lists may loop, strings may not end.
// All reading is bounded, and no function panics whatever the memory holds. The package plants no
// breakpoint and decides nothing. All functions may be called from any goroutine.
package rtld
