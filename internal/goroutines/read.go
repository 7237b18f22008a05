package goroutines

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ptools/internal/unwind"
)

const (
	batch = 512 // goroutines that are read at a time
	few   = 8   // of them that have changed
	// window is how much of a stack is read at first: most goroutines wait at less depth. wide is how much of a deeper one.
	window = 1 << 10
	wide   = 256 << 10
	// rounds is how many times a goroutine is read that does not stand still.
	rounds = 12
	// mostWide is how many bytes of wide stacks are held at a time.
	mostWide = 4 << 20
)

var errGone = errors.New("the list of goroutines cannot be read")

// errGrows is why a list could not be read that was replaced whenever it was read.
var errGrows = errors.New("it grows all the while")

// A Reader reads the goroutines of a Runtime. One goroutine at a time may use it.
type Reader struct {
	r       *Runtime
	m       Memory
	unwind  *unwind.Unwinder
	stacks  map[string]*Stack
	lines   map[string]*Line
	key     []byte
	frames  []unwind.Frame
	threads map[uint64]int // of m
	left    budget
	scratch

	// Unread is how many g could not be read, or were none.
	Unread int
}

// NewReader returns a Reader of a process whose executable memory code describes.
func (r *Runtime) NewReader(m Memory, code unwind.Code) *Reader {
	return &Reader{r: r, m: m, unwind: unwind.New(code),
		scratch: scratch{bufs: buffers(2*batch, int(r.layout.size())), windows: make([]byte, batch*window), made: make([]G, batch)}}
}

// Read calls f with each goroutine, until f returns false. The G is valid until f returns; what it refers to may be kept. They are
// read a few at a time, so they are not of one moment. One that begins meanwhile may be left out.
func (r *Reader) Read(ctx context.Context, f func(*G) bool) error {
	r.threads, r.stacks, r.lines, r.left = make(map[uint64]int), make(map[string]*Stack), make(map[string]*Line), usual
	l, err := r.r.list(r.m)
	for tries := 1; errors.Is(err, errNoList) && tries < rounds; tries++ { // it grew in that moment
		l, err = r.r.list(r.m)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	addrs := make([]uint64, batch)
	for i := uint64(0); i < l.n; i += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		addrs = addrs[:min(batch, l.n-i)]
		if err := r.addresses(&l, addrs, i); err != nil {
			return fmt.Errorf("%w: %w", errGone, err)
		}
		for _, g := range r.batch(addrs) {
			if !f(g) {
				return nil
			}
		}
	}
	return nil
}

// addresses reads a part of the list. When the list grows the runtime makes another one, and uses the memory of the old one
// for something else: what was read is right if the list was the same afterwards.
func (r *Reader) addresses(l *list, addrs []uint64, i uint64) (err error) {
	for range rounds {
		var now list
		failed := l.read(r.m, addrs, i)
		now, err = r.r.list(r.m)
		switch {
		case err != nil:
			continue
		case now.n < l.n:
			err = errNoList
			continue
		case failed == nil && now.addr == l.addr:
			return nil
		}
		l.addr = now.addr
		if err = failed; err == nil {
			err = errGrows
		}
	}
	return err
}

// A reading is one g that is being read.
type reading struct {
	addr   uint64
	want   uint64 // of its stack, in bytes
	tries  int    // rounds in which it changed
	before []byte
	after  []byte
	stack  []byte

	machine [2][]byte // the m of a system call, before and after

	channels []uint64
	labels   []Label
	line     Line   // of its ancestors
	poll     uint64 // poll descriptor that it waits at
	write    bool   // it does so to write
	until    int64  // when its sleep ends, if that is in no g
	bubble   uint64 // number of its bubble
}

// batch reads some goroutines: all of them, and then those that have changed meanwhile, fewer at a time, which takes less time.
func (r *Reader) batch(addrs []uint64) []*G {
	r.gs, r.todo, r.each = r.gs[:0], r.todo[:0], r.each[:0]
	for i, addr := range addrs {
		r.gs, r.todo, r.each = append(r.gs, nil), append(r.todo, i), append(r.each, reading{addr: addr, want: window})
	}
	slices.SortFunc(r.todo, func(a, b int) int { return cmp.Compare(addrs[a], addrs[b]) }) // neighbours are read in one piece
	gs, each, made := r.gs, r.each, r.made[:len(addrs)]
	todo := r.pass(each, r.todo, gs, made)
	for len(todo) > 0 {
		n := min(few, len(todo))
		for some := todo[:n]; len(some) > 0; {
			some = r.pass(each, some, gs, made)
		}
		todo = todo[n:]
	}
	found := gs[:0]
	for _, g := range gs {
		if g != nil {
			found = append(found, g)
		}
	}
	return found
}

// pass reads those that are to do into the memory of made, and returns those that have to be read again.
func (r *Reader) pass(each []reading, todo []int, gs []*G, made []G) (left []int) {
	r.round(each, todo)
	left = todo[:0]
	for _, i := range todo {
		g, again := r.settle(&each[i], &made[i])
		switch {
		case !again:
			gs[i] = g
		case each[i].tries < rounds:
			left = append(left, i)
		default:
			gs[i] = r.unsettled(&each[i])
		}
	}
	r.polls(each, gs)
	return left
}

// round reads each g that is to do, its stack, and the g again, in this order.
func (r *Reader) round(each []reading, todo []int) {
	size := int(r.r.layout.size())
	r.granted = r.piece
	dst, addrs := r.dst[:0], r.addrs[:0]
	for n, i := range todo {
		dst, addrs = append(dst, r.bufs[n][:size]), append(addrs, each[i].addr)
	}
	r.m.ReadVec(dst, addrs)
	for n, i := range todo {
		each[i].before = dst[n]
	}
	r.machines(each, todo, 0)
	stacks, places, whose := r.copies[:0], r.places[:0], r.whose[:0]
	used, wider := 0, 0
	for _, i := range todo {
		e := &each[i]
		e.stack = nil
		at, length := e.span(&r.r.layout)
		if length == 0 {
			continue
		}
		var b []byte
		if length <= window {
			b, used = r.windows[used:used+int(length)], used+int(length)
		} else if wider += int(length); wider > mostWide {
			e.before = nil // in another round
			continue
		} else {
			b = make([]byte, length)
		}
		stacks, places, whose = append(stacks, b), append(places, at), append(whose, i)
	}
	r.m.ReadVec(stacks, places)
	for n, i := range whose {
		each[i].stack = stacks[n]
	}
	r.dst, r.addrs, r.copies, r.places, r.whose = dst, addrs, stacks, places, whose
	r.details(each, todo)
	for n := range todo {
		dst[n] = r.bufs[batch+n][:size]
	}
	r.m.ReadVec(dst, addrs)
	for n, i := range todo {
		each[i].after = dst[n]
	}
	r.machines(each, todo, 1)
}

// machines reads the m of goroutines in system calls. From Go 1.26 on g does not count them: the next one may look the same.
func (r *Reader) machines(each []reading, todo []int, when int) {
	l := &r.r.layout
	var wishes []wish
	for _, i := range todo {
		e := &each[i]
		e.machine[when] = nil
		if g := (raw{l, e.before}); uint64(len(e.before)) >= l.size() && Status(g.status()&^scanning) == Syscall && g.word(l.g.m) != 0 {
			wishes = append(wishes, wish{of: e, addr: g.word(l.g.m), size: l.m.tick + 4})
		}
	}
	if len(wishes) == 0 {
		return
	}
	r.grant(wishes)
	for _, w := range wishes {
		w.of.machine[when] = w.b
	}
}

// span returns the part of the stack that is wanted.
func (e *reading) span(l *layout) (at, length uint64) {
	g := raw{l, e.before}
	if uint64(len(e.before)) < l.size() || !g.live() {
		return 0, 0
	}
	switch Status(g.status() &^ scanning) {
	case Running, CopyStack:
		return 0, 0
	}
	_, sp, _ := g.place()
	lo, hi := g.bounds()
	if sp < lo || sp >= hi || hi-lo > maxStack {
		return 0, 0
	}
	return sp, min(hi-sp, e.want)
}

// settle returns the goroutine that was read, in the memory of g, nil if there is none, or says that it has to be read again.
func (r *Reader) settle(e *reading, g *G) (found *G, again bool) {
	l := &r.r.layout
	if e.before == nil {
		return nil, true
	}
	if uint64(len(e.before)) < l.size() || uint64(len(e.after)) < l.size() {
		r.Unread++
		return nil, false
	}
	before, after := raw{l, e.before}, raw{l, e.after}
	if !before.live() && !after.live() {
		return nil, false
	}
	status := Status(before.status() &^ scanning)
	if status == Running && before.sameRun(after) {
		before.decode(g)
		r.threadsOf(g, before)
		return g, false
	}
	if !bytes.Equal(e.before, e.after) || !bytes.Equal(e.machine[0], e.machine[1]) || status == CopyStack {
		e.tries++
		return nil, true
	}
	if !before.possible(e.addr) {
		r.Unread++
		return nil, false
	}
	pc, sp, bp := before.place()
	_, hi := before.bounds()
	stack := r.walk(pc, sp, bp, e.stack)
	if len(stack.Frames) > 0 {
		stack.Frames[0].Return = pc != before.word(l.g.startpc) // all that is saved is a return address, but for one that has not begun
	}
	if stack.End == unwind.Unreadable && uint64(len(e.stack)) == e.want && e.want < min(hi-sp, wide) && take(&r.left.wide, int(min(hi-sp, wide))) {
		e.want = wide
		return nil, true
	}
	before.decode(g)
	if g.Status == Waiting {
		r.setWaits(e, g, stack.Frames, sp)
	}
	if len(stack.Frames) > 0 {
		g.Stack = r.shared(stack)
	}
	g.Channels, g.Labels, g.Line, g.Bubble = e.channels, e.labels, r.sharedLine(&e.line), e.bubble
	if e.until != 0 {
		g.Until = e.until
	}
	r.threadsOf(g, before)
	return g, false
}

// sameRun reports whether two readings are of the same goroutine, which ran both times.
func (r raw) sameRun(o raw) bool {
	for _, off := range []uint64{r.l.g.goid, r.l.g.gopc, r.l.g.startpc, r.l.g.parent} {
		if r.word(off) != o.word(off) {
			return false
		}
	}
	return r.status()&^scanning == o.status()&^scanning
}

// unsettled is a goroutine that never stood still, nil if it has ended.
func (r *Reader) unsettled(e *reading) *G {
	if uint64(len(e.after)) < r.r.layout.size() {
		r.Unread++
		return nil
	}
	after := raw{&r.r.layout, e.after}
	if !after.live() {
		return nil
	}
	return &G{ID: after.word(r.r.layout.g.goid), Status: Changing}
}
