// Package ptools is the root of the module; it holds no code. The library that a tracing tool
// imports is ptools/pctl, the commands are ptools/cmd/pgrab and ptools/cmd/psample. Its tests check
// which package of the module may import which, and that the README and the pages of doc are true of the code.
package ptools
