package elfsym

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// bookkeeping is a ledger with files that only hold bytes.
type bookkeeping struct {
	*ledger
	forgotten []string
}

func (l *bookkeeping) file(name string) *holding {
	h := newHolding(l.ledger)
	h.forget = func() bool {
		l.forgotten = append(l.forgotten, name)
		h.release()
		return true
	}
	return h
}

// TestLedger: what was not used makes room for what is. If all is in use, each keeps an equal share, and those with more make room
// for those with less.
func TestLedger(t *testing.T) {
	l := &bookkeeping{ledger: newLedger(1000)}
	idle, large, small := l.file("idle"), l.file("large"), l.file("small")
	if !idle.take(400) || !large.take(600) {
		t.Fatal("refused while there is room")
	}
	l.sweep()
	large.touch()
	l.swept = time.Now().Add(-2 * idleAfter)
	if !small.take(300) || fmt.Sprint(l.forgotten) != "[idle]" {
		t.Errorf("let go: %v", l.forgotten)
	}
	if large.take(200) {
		t.Error("more than a share is given while all is in use")
	}
	if n := l.total.Load(); n != 900 {
		t.Errorf("%d bytes after a refusal", n)
	}
	if large.refused.Load() == 0 {
		t.Error("the next refusal looks at what others hold")
	}
	if !idle.take(200) || fmt.Sprint(l.forgotten) != "[idle large]" {
		t.Errorf("let go: %v", l.forgotten)
	}
	if large.take(500) || !large.take(100) {
		t.Error("what had to make room does not keep to its share")
	}
	large.give(100)
	large.limit.Store(0)
	large.forget = func() bool { return false } // it is being read
	if !large.take(500) || small.take(10) {
		t.Error("room is made by what cannot let go")
	}
	for _, h := range []*holding{idle, large, small} {
		h.leave()
	}
	if n := l.total.Load(); n != 0 || len(l.holders) != 0 {
		t.Errorf("%d bytes of %d files are left", n, len(l.holders))
	}
}

// TestRoomEnds: a file that is gone gives back what it held to the one that looks for room, who has the lock that its leaving
// waits for. One that says that it has let go, and has not, is asked once.
func TestRoomEnds(t *testing.T) {
	l := newLedger(1000)
	gone, small := newHolding(l), newHolding(l)
	func() {
		owner := new(PerfMap)
		bind(gone, owner, func(*PerfMap) bool { t.Error("it is there still"); return false })
		gone.take(900)
		runtime.KeepAlive(owner)
	}()
	l.mu.Lock()
	runtime.GC()
	runtime.GC()
	l.mu.Unlock()
	if !small.take(400) {
		t.Errorf("no room: the one that is gone has %d bytes", gone.n.Load())
	}
	lies := newHolding(l)
	lies.forget = func() bool { return true }
	lies.take(500)
	if small.take(300) {
		t.Error("room is made by what lets nothing go")
	}
}

// TestBeginsAnew: a file that was refused memory says so, and has all its names once there is room again.
func TestBeginsAnew(t *testing.T) {
	l := &bookkeeping{ledger: newLedger(1 << 20)}
	f := tiny(t)
	in := f.budget.in
	f.budget.in = l.ledger
	defer func() { f.budget.in = in }()
	other := l.file("other")
	other.forget = func() bool { return false }
	if !other.take(l.most) {
		t.Fatal("refused")
	}
	if s, ok := f.Symbol(0x105); ok {
		t.Errorf("%+v without memory", s)
	}
	if err := f.Missing(); !errors.Is(err, errCrowded) || !f.Crowded() {
		t.Errorf("%v", err)
	}
	other.release()
	if s, ok := f.Symbol(0x105); !ok || f.Missing() != nil {
		t.Errorf("%+v, %v", s, f.Missing())
	}
}

func tiny(t *testing.T) *File {
	t.Helper()
	b := tinyELF()
	f, err := New(bytes.NewReader(b), int64(len(b)), "tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestForget: a file that lets go of everything while it is used gives the same answers, and holds nothing when it is done.
func TestForget(t *testing.T) {
	f := tiny(t)
	want, ok := f.Symbol(0x105)
	if !ok || f.budget.holding.n.Load() == 0 {
		t.Fatalf("%+v, %d bytes are held", want, f.budget.holding.n.Load())
	}
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 200 {
				if s, ok := f.Symbol(0x105); !ok || s != want {
					t.Errorf("%+v, not %+v", s, want)
				}
				if s := f.ByName("plain"); len(s) == 0 {
					t.Error("not found by name")
				}
			}
		})
	}
	before := f.Generation()
	for range 200 {
		forget(f)
	}
	users.Wait()
	if forget(f); f.budget.holding.n.Load() != 0 || f.Generation() == before {
		t.Errorf("%d bytes are held", f.budget.holding.n.Load())
	}
}

// TestPerfMapShared: all that have a list open share what was read of it. After it was let go of, it is read again.
func TestPerfMapShared(t *testing.T) {
	m := newPerfMap()
	text := "1000 100 first\n2000 100 second\n"
	refresh := func() {
		t.Helper()
		if _, err := m.Refresh(strings.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	held := m.held.n.Load()
	if perfName(m, 0x2000) != "second" || held == 0 {
		t.Fatalf("%d bytes are held", held)
	}
	if !m.forget() || m.held.n.Load() != 0 || perfName(m, 0x2000) != "" {
		t.Error("not let go of")
	}
	if refresh(); perfName(m, 0x2000) != "second" || m.held.n.Load() != held {
		t.Errorf("%d bytes are held, not %d", m.held.n.Load(), held)
	}
}
