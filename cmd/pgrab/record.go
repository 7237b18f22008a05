package main

import (
	"ptools/pctl"
)

// record is one thing to print: an event, and what was captured with it.
type record struct {
	pctl.Event
	thread  *pctl.Thread   // the thread that hit, with its registers and stack
	args    *string        // its arguments, with --args
	threads []*pctl.Thread // every thread, at a rendezvous
	waits   map[int]pctl.Wait
	text    []byte        // nothing else to print: lines
	skipped uint64        // hits that were not printed before this
	counts  []count       // the final table
	reached chan struct{} // nothing to print: closed when all before it is formatted
	then    func()        // nothing to print: called when all before it is written
}

// count is a row of the final table.
type count struct {
	pid       int // 0: a sum
	where     pctl.Where
	function  function // of a pattern
	unhit     int      // it stands for so many functions of a pattern, none of which was hit
	addrs     []uint64 // its present addresses; empty while no loaded object has its symbol
	hits      uint64
	processes int // in a sum: the number of processes with hits
}

// function is one of those that a pattern names; zero for another breakpoint.
type function struct {
	symbol, object string
	offset         uint64
}

// format formats records. Its methods append to b and keep no state.
type format interface {
	event(b []byte, r *record) []byte
	threads(b []byte, r *record) []byte
	deadlock(b []byte, r *record, cycle []int) []byte
	counts(b []byte, rows []count) []byte
}

// frames returns the frames of a thread's stack, with source lines
// ((*pctl.Thread).Stack) or without ((*pctl.Thread).Calls).
type frames func(*pctl.Thread) ([]pctl.Frame, error)

// appendRecord appends all lines of a record.
func appendRecord(b []byte, f format, r *record) []byte {
	if r.counts != nil {
		return f.counts(b, r.counts)
	}
	if r.text != nil {
		return append(b, r.text...)
	}
	b = f.event(b, r)
	r.waits = pctl.Waits(r.threads)
	b = f.threads(b, r)
	for _, cycle := range pctl.Deadlocks(r.waits) {
		b = f.deadlock(b, r, cycle)
	}
	return b
}
