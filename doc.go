// Package ptools is the root of the module; it holds no code. The library for tracing tools is ptools/pctl.
// The commands are ptools/cmd/pgrab, ptools/cmd/psample and ptools/cmd/psampled. The tests here check which
// package of the module may import which, and that the README and the pages of doc agree with the code.
package ptools
