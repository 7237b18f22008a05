package goroutines

import "strings"

// A reasonRange is a reason for which a goroutine waits, and the versions of Go, by their second number, that have it. 0: no bound.
type reasonRange struct {
	text     string
	from, to int
}

// reasons are the reasons of Go 1.18 to 1.25 in the order of their numbers, which is that of runtime.waitReason.
var reasons = []reasonRange{
	{"", 0, 0}, {"GC assist marking", 0, 0}, {"IO wait", 0, 0}, {"chan receive (nil chan)", 0, 0}, {"chan send (nil chan)", 0, 0},
	{"dumping heap", 0, 0}, {"garbage collection", 0, 0}, {"garbage collection scan", 0, 0}, {"panicwait", 0, 0}, {"select", 0, 0},
	{"select (no cases)", 0, 0}, {"GC assist wait", 0, 0}, {"GC sweep wait", 0, 0}, {"GC scavenge wait", 0, 0}, {"chan receive", 0, 0},
	{"chan send", 0, 0}, {"finalizer wait", 0, 0}, {"force gc (idle)", 0, 0}, {"GOMAXPROCS updater (idle)", 25, 0}, {"semacquire", 0, 0},
	{"sleep", 0, 0}, {"sync.Cond.Wait", 0, 0}, {"timer goroutine (idle)", 0, 19}, {"sync.Mutex.Lock", 20, 0}, {"sync.RWMutex.RLock", 20, 0},
	{"sync.RWMutex.Lock", 20, 0}, {"sync.WaitGroup.Wait", 24, 0}, {"trace reader (blocked)", 0, 0}, {"wait for GC cycle", 0, 0},
	{"GC worker (idle)", 0, 0}, {"GC worker (active)", 20, 0}, {"preempted", 0, 0}, {"debug call", 0, 0}, {"GC mark termination", 20, 0},
	{"stopping the world", 20, 0}, {"flushing proc caches", 22, 0}, {"trace goroutine status", 22, 0}, {"trace proc status", 22, 0},
	{"page trace flush", 22, 0}, {"coroutine", 22, 0}, {"GC weak to strong wait", 23, 0}, {"synctest.Run", 24, 0}, {"synctest.Wait", 24, 0},
	{"chan receive (synctest)", 24, 24}, {"chan send (synctest)", 24, 24}, {"select (synctest)", 24, 24}, {"chan receive (durable)", 25, 0},
	{"chan send (durable)", 25, 0}, {"select (durable)", 25, 0}, {"sync.WaitGroup.Wait (durable)", 25, 0}, {"cleanup wait", 25, 0},
}

// reasons26 are those of Go 1.26, which has another order.
const reasons26 = ";GC assist marking;IO wait;dumping heap;garbage collection;garbage collection scan;panicwait;GC assist wait;GC sweep wait;" +
	"GC scavenge wait;finalizer wait;force gc (idle);GOMAXPROCS updater (idle);semacquire;sleep;chan receive (nil chan);chan send (nil chan);" +
	"select (no cases);select;chan receive;chan send;sync.Cond.Wait;sync.Mutex.Lock;sync.RWMutex.RLock;sync.RWMutex.Lock;sync.WaitGroup.Wait;" +
	"trace reader (blocked);wait for GC cycle;GC worker (idle);GC worker (active);preempted;debug call;GC mark termination;stopping the world;" +
	"flushing proc caches;trace goroutine status;trace proc status;page trace flush;coroutine;GC weak to strong wait;synctest.Run;synctest.Wait;" +
	"chan receive (durable);chan send (durable);select (durable);sync.WaitGroup.Wait (durable);cleanup wait"

// reasonsOf returns the reasons of a version by their numbers, nil for a version that is not known: its reasons are not told.
func reasonsOf(minor int) (all []string) {
	switch {
	case minor == 26:
		return strings.Split(reasons26, ";")
	case minor < 18 || minor > 26:
		return nil
	}
	for _, r := range reasons {
		if r.from <= minor && (r.to == 0 || minor <= r.to) {
			all = append(all, r.text)
		}
	}
	return all
}
