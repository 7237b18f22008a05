package unwind

// A way is how to leave a function at one instruction.
type way uint8

const (
	wayNone     way = iota // nothing is known: frame pointer, code, stack
	wayCFI                 // row of fn
	waySignal              // signal trampoline without call frame information
	wayTop                 // there is no caller
	wayGo                  // CFA is rsp+delta+8
	wayGoFP                // CFA is rbp+16: the function changes stacks
	wayGoC                 // cgocallback: Go called by C, which is on the system stack
	wayGoGrow              // morestack: on the system stack, for a goroutine
	wayGoSwitch            // systemstack, asmcgocall: wayGoFP, or the goroutine's saved place
)

// A site says what kind of code an instruction is in, if a callee returns to it.
type site uint8

const (
	behindCall       site = iota // the call is in front of it; also of an instruction to which nothing returns
	entered                      // nothing in front of it has called: the address was put on the stack
	inTrampoline                 // a signal handler returns there
	behindTrampoline             // a thread that has called sigreturn is in the trampoline; another is not
)

// A plan is how to leave a function at one instruction, as far as that does not
// depend on memory.
type plan struct {
	way    way
	site   site
	forced bool // the caller was interrupted by the runtime, and did not call
	fn     *function
	row    *row
	start  uint64 // of a Go function, a link-time address
	delta  int32
	tls    int32   // where Go code keeps g, relative to the thread pointer
	saves  bool    // a Go function called by C: it saved C's registers
	parks  bool    // a function of Go's scheduler that runs when the thread has no goroutine
	routes *routes // ways out by the code: for wayNone, or if fn is wrong
	fixed  *route  // the same by the stack pointer alone: if the row needs rbp and rbp is not known
}

// routes are ways out of a function by its code: from its start to the instruction, and
// from there to its return. If these lead nowhere, ways from what may be its start are
// looked for.
type routes struct {
	in, out route
	back    []route
	walked  bool // back has been looked for
	ends    bool // the function may end behind its call
	bare    bool // the function has no frame pointer, and the size of its frame is not known: the pointer is that of a caller
}

// A route is the way out of a function without call frame information: where the
// return address is, by the function's code.
type route struct {
	ok  bool
	cfa rule // ruleRegister of rsp or rbp
	rbp bool // the caller's rbp is in memory
	at  rule // at this address
}

// A madeRoute is the way out of code made at run time.
type madeRoute struct {
	key   uint64 // address of the instruction, doubled, +1 for a return address
	since uint64 // number of the stack that it was found for
	out   route
}

const (
	// madeSetsLg is the logarithm of the number of sets of madeRoutes that are remembered at most.
	// Finding a route takes microseconds. If two routes replaced each other by turns, that would
	// be most of the cost of a stack.
	madeSetsLg = 8
	madeWays   = 4
	// madeTrust is for how many stacks a route out of code made at run time is used without
	// reading the code again. madeDoubt is the same for a route that did not help.
	madeTrust = 10_000
	madeDoubt = 32
)

// A cached is a plan and its key.
type cached struct {
	table *Table
	key   uint64 // link-time address of the instruction, doubled, +1 for a return address
	plan  plan
}

// cacheSetsLg is the logarithm of the number of pairs of plans kept at most. That is enough for most
// program counters that the stacks of a profile have in common. Plans are kept in pairs because of
// a hundred program counters some share a place. Otherwise those would be planned anew for every
// stack.
const cacheSetsLg = 10

// A planner finds out how to leave functions, and remembers it.
type planner struct {
	codeReader
	cache  memo[[2]cached]
	made   memo[[madeWays]madeRoute]
	walker *walker // made when first needed
}

// plan returns how to leave p's function at p's instruction. It is valid until the next call.
func (l *planner) plan(p *place) *plan {
	t := p.m.Table
	key := (p.lookup() - p.m.Bias) << 1
	if p.ret {
		key |= 1
	}
	set := l.cache.set(key)
	for i := range set {
		if set[i].table == t && set[i].key == key {
			return &set[i].plan
		}
	}
	set = l.cache.room(key, cacheSetsLg)
	set[1] = set[0]
	set[0] = cached{table: t, key: key, plan: l.newPlan(p)}
	return &set[0].plan
}
