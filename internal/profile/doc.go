// Package profile holds what a sampler has seen, and writes it in various
// formats.
//
// # Model
//
// A [Profile] has threads and address spaces. A [Space] belongs to one image
// of one process, because program counters mean something only there. So a
// process that executes another program gets a second one. In a space a stack
// is a path in a tree, from the outermost caller to the leaf. Stacks that
// share callers share nodes, and a stack that is seen a million times is one
// node and one [Cell] of counters. The memory grows with the number of
// distinct stacks, not with the number of samples.
//
// A cell counts one stack of one thread in three values: samples, CPU
// nanoseconds and wall nanoseconds.
//
// # Resolution
//
// Stacks are kept as raw program counters. Each distinct one is resolved once,
// through the [Resolver] of its space, whenever [Space.Resolve] is called: in
// the idle part of a sampling round, before an image disappears, and at the
// latest when the profile is written.
//
// # Output
//
// Every output is a function of the contents alone: the same samples in any
// order give the same bytes. Names come from files of other users, so
// each is passed through [Clean] before it is stored.
//
// A Profile and its parts belong to one goroutine at a time.
package profile
