// Package program reads the program that a process has executed last: its objects, its run-time linker's list of
// them, where its main function is, and which functions its indirect functions are bound to.
//
// An [Image] reads the process's memory and files. It sets no breakpoint, stops no thread and notifies no client: it
// says at which addresses its owner should do so, and what has changed when such an address was reached. After an
// exec the owner makes a new Image.
//
// An Image belongs to one goroutine, the control goroutine of its process.
package program
