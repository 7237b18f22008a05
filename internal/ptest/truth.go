package ptest

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// truthEnv names the file of the shared page in a target's environment.
const truthEnv = "PTEST_TRUTH"

// Truth is a page that a test shares with its targets. The targets write, and the test reads at any
// time, without disturbing them. testdata/ptest.h has the same layout for C.
type Truth struct {
	path  string
	words []byte // truthSize bytes, mapped shared
}

const truthSize = 4096

// The words of the page, in units of 8 bytes.
const (
	wordWork    = 0  // units of work done
	wordGap     = 1  // longest gap that a spinning thread saw, ns; a test may set it to 0
	wordEINTR   = 2  // system calls that returned EINTR
	wordSignals = 3  // signals handled
	wordErrors  = 4  // errors that the target itself has found
	wordStretch = 5  // worst excess of a timed wait over its timeout, ns
	wordBase    = 6  // time of CLOCK_MONOTONIC that sums of times count from, ns
	wordShares  = 16 // work or CPU time per named part, Shares words
	wordKinds   = 64 // counts by kind, of whatever the target counts, Kinds words
)

// Shares and Kinds are the lengths of the page's two arrays.
const (
	Shares = 48
	Kinds  = 64
)

// NewTruth makes a page that lives as long as the test. Give it to a target with [Options].
func NewTruth(t testing.TB) *Truth {
	t.Helper()
	r, err := MakeTruth(filepath.Join(t.TempDir(), "truth"))
	if err != nil {
		t.Fatalf("ptest: truth page: %v", err)
	}
	t.Cleanup(r.Close)
	return r
}

// MakeTruth makes a page in a file that does not exist yet, for programs other than tests. It has to be closed.
func MakeTruth(path string) (*Truth, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(truthSize); err != nil {
		return nil, err
	}
	r, err := mapTruth(f)
	r.path = path
	return r, err
}

// Close unmaps a page that MakeTruth has made.
func (r *Truth) Close() { syscall.Munmap(r.words) }

// OpenTruth maps the page that the environment names; it is for helpers. Without such a page it returns
// a private one, so that a helper also runs alone.
func OpenTruth() *Truth {
	p := os.Getenv(truthEnv)
	if p == "" {
		return &Truth{words: make([]byte, truthSize)}
	}
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	r, err := mapTruth(f)
	if err != nil {
		panic(err)
	}
	return r
}

// Path returns the path of the page. A target that another target starts gets it in PTEST_TRUTH.
func (r *Truth) Path() string { return r.path }

func mapTruth(f *os.File) (*Truth, error) {
	b, err := syscall.Mmap(int(f.Fd()), 0, truthSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return &Truth{words: b}, err
}

func (r *Truth) word(i int) *uint64 { return (*uint64)(unsafe.Pointer(&r.words[8*i])) }

func (r *Truth) load(i int) uint64 { return atomic.LoadUint64(r.word(i)) }

// Work returns how many units of work the target has done.
func (r *Truth) Work() uint64 { return r.load(wordWork) }

// AddWork counts n units of work.
func (r *Truth) AddWork(n uint64) { atomic.AddUint64(r.word(wordWork), n) }

// EINTR returns how many system calls of the target have returned EINTR.
func (r *Truth) EINTR() uint64 { return r.load(wordEINTR) }

// Errors returns how many errors the target itself has found.
func (r *Truth) Errors() uint64 { return r.load(wordErrors) }

// Share returns word i of the shares.
func (r *Truth) Share(i int) uint64 { return r.load(wordShares + i%Shares) }

// Spent returns word i of the shares as a sum of times. Times that are not over count until now, which is a time of
// CLOCK_MONOTONIC; see spend_begin in testdata/ptest.h.
func (r *Truth) Spent(i int, now time.Duration) time.Duration {
	const unfinished = 1 << 50 // this is subtracted for each time that is not over
	v := int64(r.Share(i))
	n := (unfinished/2 - v) >> 50
	return time.Duration(v + n*(unfinished+int64(now)-int64(r.load(wordBase))))
}

// TakeGap returns the longest time since the last call that a spinning thread did not run.
func (r *Truth) TakeGap() time.Duration { return time.Duration(atomic.SwapUint64(r.word(wordGap), 0)) }

// Kind returns word i of the kinds.
func (r *Truth) Kind(i int) uint64 { return r.load(wordKinds + i%Kinds) }

// AwaitWork waits until the target has done at least n more units of work than now, which shows that it runs.
func (g *Target) AwaitWork(n uint64) {
	g.t.Helper()
	if g.Truth == nil {
		g.t.Fatal("ptest: the target has no truth page")
	}
	goal := g.Truth.Work() + n
	g.WaitFor("work", func() bool { return g.Truth.Work() >= goal })
}

// StandsStill looks at the target a thousand times, which takes a while. The target must not do any
// work meanwhile.
func (g *Target) StandsStill() {
	g.t.Helper()
	before := g.Truth.Work()
	for range 1000 {
		if now := g.Truth.Work(); now != before {
			g.t.Fatalf("ptest: target %d works on, from %d to %d, where it should stand still", g.PID, before, now)
		}
	}
}
