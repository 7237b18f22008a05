// Package hostile makes programs that attack a profiler which looks at them. Only tests use it.
//
// A program spins a hundred calls deep. Its tables, which neither the kernel nor the program reads, are hostile to a reader:
// each offset and each count is right for itself, and their sum, or what is repeated, is out of proportion to the size of the
// file. Random changes of ordinary files do not lead there.
package hostile
