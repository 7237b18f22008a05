package goroutines

// Bounds of what one g refers to.
const (
	maxChannels = 16
	maxLabels   = 32
	maxText     = 256 // of a key or value
)

// A wish is memory that is wanted for a reading.
type wish struct {
	of   *reading
	addr uint64
	size uint64
	b    []byte // what came of it
}

// grant reads what is wished, as far as it is there. The bytes are valid until the next round.
func (r *Reader) grant(wishes []wish) {
	if len(wishes) == 0 {
		return
	}
	dst, addrs := r.wished[:0], r.sought[:0]
	for i := range wishes {
		dst, addrs = append(dst, r.memory(int(wishes[i].size))), append(addrs, wishes[i].addr)
	}
	r.m.ReadVec(dst, addrs)
	for i := range wishes {
		wishes[i].b = dst[i]
	}
	r.wished, r.sought = dst, addrs
}

// details reads what goroutines wait for, and their labels. It does so before each g is read again: a g that stood still
// had them.
func (r *Reader) details(each []reading, todo []int) {
	l := &r.r.layout
	queues := r.queued[:0]
	var labels, timers, lines, bubbles []wish
	for _, i := range todo {
		e := &each[i]
		e.channels, e.labels, e.poll, e.until, e.bubble, e.line = nil, nil, 0, 0, 0, Line{}
		g := raw{l, e.before}
		if uint64(len(e.before)) < l.size() || !g.live() {
			continue
		}
		if at := g.word(l.g.sudog); at != 0 && Status(g.status()&^scanning) == Waiting {
			queues = append(queues, wish{of: e, addr: at})
		}
		if at := g.word(l.g.label); at != 0 && l.labels {
			labels = append(labels, wish{of: e, addr: at, size: sliceSize})
		}
		if at := g.word(l.g.ancestors); at != 0 && l.g.ancestors != 0 {
			lines = append(lines, wish{of: e, addr: at, size: sliceSize})
		}
		if at := g.bubble(); at != 0 && l.bubbleID != 0 {
			bubbles = append(bubbles, wish{of: e, addr: at + l.bubbleID, size: 8})
		}
		if l.g.timer != 0 && g.sleeps() && g.word(l.g.timer) != 0 {
			timers = append(timers, wish{of: e, addr: g.word(l.g.timer) + timerWhen, size: 8})
		}
	}
	r.queued = queues
	r.queues(queues)
	r.labels(labels)
	r.ancestors(lines)
	numbers := func(wishes []wish, set func(*reading, uint64)) {
		r.grant(wishes)
		for _, w := range wishes {
			if len(w.b) == 8 {
				set(w.of, le.Uint64(w.b))
			}
		}
	}
	numbers(timers, func(e *reading, at uint64) { e.until = int64(at) })
	numbers(bubbles, func(e *reading, id uint64) { e.bubble = id })
}

// queues follows the entries of queues that goroutines are in, one for each case of a select.
func (r *Reader) queues(wishes []wish) {
	o := r.r.layout.sudog
	for hop := 0; hop < maxChannels && len(wishes) > 0; hop++ {
		for i := range wishes {
			wishes[i].size = max(o.channel, o.next) + 8
		}
		r.grant(wishes)
		left := wishes[:0]
		for _, w := range wishes {
			if uint64(len(w.b)) < w.size {
				continue
			}
			channel := le.Uint64(w.b[o.channel:])
			if channel != 0 && take(&r.left.details, 8) {
				w.of.channels = append(w.of.channels, channel)
			}
			if next := le.Uint64(w.b[o.next:]); next != 0 {
				left = append(left, wish{of: w.of, addr: next})
			}
		}
		wishes = left
	}
}

// labels reads sets of labels: a slice of pairs of strings.
func (r *Reader) labels(sets []wish) {
	if len(sets) == 0 {
		return
	}
	r.grant(sets)
	var pairs, texts []wish
	for _, w := range sets {
		if len(w.b) == 24 {
			if n := le.Uint64(w.b[8:]); n > 0 && n <= maxLabels {
				pairs = append(pairs, wish{of: w.of, addr: le.Uint64(w.b), size: 32 * n})
			}
		}
	}
	r.grant(pairs)
	for _, w := range pairs {
		for at := 0; at+16 <= len(w.b) && uint64(len(w.b)) == w.size; at += 16 {
			texts = append(texts, wish{of: w.of, addr: le.Uint64(w.b[at:]), size: min(le.Uint64(w.b[at+8:]), maxText)})
		}
	}
	r.grant(texts)
	for i := 0; i+1 < len(texts); i += 2 {
		if take(&r.left.details, len(texts[i].b)+len(texts[i+1].b)+32) {
			texts[i].of.labels = append(texts[i].of.labels, Label{string(texts[i].b), string(texts[i+1].b)})
		}
	}
}
