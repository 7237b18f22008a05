// Package serve answers for processes that it is not linked into as net/http/pprof does for the program that it is
// linked into, so that go tool pprof and the engines for continuous profiles pull profiles of them.
//
// A [Server] is an http.Handler over the targets that it is told of. Each target has its pages below
// /targets/ID/debug/pprof/, where ID is pid-start, or the pid alone; if there is but one target, it has them below
// /debug/pprof/ too. What a client asks for is bounded: how long a profile takes, how many are taken at the same
// time, how large a request is, and how long an answer may take to be read.
package serve
