// Package serve serves profiles of other processes, as net/http/pprof does of the program that it is linked into.
// So go tool pprof and the engines for continuous profiles can pull profiles of them.
//
// A [Server] is an http.Handler over the targets of its Options. Each target has its pages below
// /targets/ID/debug/pprof/, where ID is pid-start, or the pid alone. A single target has them below /debug/pprof/
// too. Requests are bounded: how long a profile takes, how many are taken at the same time, how large a request
// is, and how long the reading of an answer may take.
package serve
