package bkpt

import (
	"bytes"
	"errors"
	"testing"
)

// fakeProbe is closed when the test says so.
type fakeProbe struct {
	addr   uint64
	closed chan struct{}
}

func (p *fakeProbe) Close() error          { close(p.closed); return nil }
func (p *fakeProbe) Gone() <-chan struct{} { return p.closed }

// kernel opens fake probes, each of which shows a trap in the text.
type kernel struct {
	text    *text
	open    []*fakeProbe
	refuse  uint64   // address that gets none
	closing []func() // close the discarded probes, unless prompt
	prompt  bool
}

var errRefused = errors.New("refused")

func (k *kernel) probe(b *Breakpoint) (Probe, error) {
	if b.Addr == k.refuse {
		return nil, errRefused
	}
	p := &fakeProbe{addr: b.Addr, closed: make(chan struct{})}
	k.open = append(k.open, p)
	k.text.b[b.Addr-k.text.base] = breakByte
	return p, nil
}

func (k *kernel) discard(c Probe) <-chan struct{} {
	p := c.(*fakeProbe)
	orig := newText().b[p.addr-k.text.base]
	finish := func() {
		k.text.b[p.addr-k.text.base] = orig
		p.Close()
	}
	if k.prompt {
		finish()
	} else {
		k.closing = append(k.closing, finish)
	}
	return p.closed
}

func (k *kernel) living() int {
	n := 0
	for _, p := range k.open {
		select {
		case <-p.closed:
		default:
			n++
		}
	}
	return n
}

// TestUprobes: the kernel's traps stay at a rendezvous, are hidden from readers
// until they have left the text, and are left alone in forked children.
func TestUprobes(t *testing.T) {
	m := newText()
	k := &kernel{text: m}
	orig := bytes.Clone(m.b)
	tab, u := NewTable(m), NewUprobes(k.probe, k.discard)
	a, err := tab.AddTrap(textBase, u)
	must(t, err)
	b, err := tab.AddTrap(textBase+16, u)
	must(t, err)
	own := mustAdd(t, tab, textBase+32)
	if u.Len() != 2 || own.Armed() {
		t.Fatalf("%d probes before Arm, int3 armed %t", u.Len(), own.Armed())
	}
	must(t, tab.Arm())
	if k.living() != 2 || !a.Armed() || !a.After() || own.After() {
		t.Fatalf("%d probes, armed %t, after %t", k.living(), a.Armed(), a.After())
	}
	shown := func() []byte {
		p := bytes.Clone(m.b[:64])
		tab.Overlay(p, textBase)
		return p
	}
	if !bytes.Equal(shown(), orig[:64]) {
		t.Error("overlay shows a trap")
	}
	must(t, tab.Disarm())
	if k.living() != 2 || m.b[32] != orig[32] {
		t.Error("a rendezvous lifts int3s and keeps probes")
	}
	must(t, tab.Arm())

	if got, _, ok := tab.Trapped(b.Addr + breakLen); got != nil || ok {
		t.Error("an int3 of the program's own at a probed address is taken for ours")
	}
	must(t, tab.Remove(b))
	if m.b[16] != breakByte {
		t.Fatal("the kernel was faster than it says")
	}
	if !bytes.Equal(shown(), orig[:64]) {
		t.Error("overlay shows a trap that is on its way out")
	}
	child := &text{base: m.base, b: bytes.Clone(m.b)}
	must(t, tab.Clean(child, nil))
	if child.b[0] != breakByte || child.b[16] != breakByte || child.b[32] != orig[32] {
		t.Error("Clean: the kernel's traps are the kernel's, ours are ours")
	}
	k.closing[0]()
	if !bytes.Equal(shown(), orig[:64]) {
		t.Error("text is not the program's own")
	}
	tab.Forget()
	k.closing[1]()
	if k.living() != 0 || u.Len() != 0 {
		t.Errorf("%d probes after exec", k.living())
	}
}

// TestHide: a place is hidden until all probes that were there are closed, the table's own and those of
// another table. An int3 is planted only then.
func TestHide(t *testing.T) {
	m := newText()
	k := &kernel{text: m}
	tab, u := NewTable(m), NewUprobes(k.probe, k.discard)
	orig := m.b[0]
	shown := func() byte {
		p := []byte{m.b[0]}
		tab.Overlay(p, textBase)
		return p[0]
	}
	elsewhere := make(chan struct{})
	m.b[0] = breakByte
	tab.Hide(textBase, orig, elsewhere)
	tab.Hide(textBase, orig, elsewhere)
	if shown() != orig {
		t.Error("a trap that is hidden is shown")
	}
	b, err := tab.AddTrap(textBase, u)
	must(t, err)
	close(elsewhere)
	must(t, tab.Remove(b))
	b, err = tab.AddTrap(textBase, u)
	must(t, err)
	if b.Orig() != orig || shown() != orig {
		t.Errorf("original byte %#x, shown %#x, want %#x", b.Orig(), shown(), orig)
	}
	must(t, tab.Remove(b))
	k.closing[1]()
	m.b[0] = breakByte // the first is still there
	if shown() != orig || len(tab.probed) != 1 {
		t.Errorf("shown %#x with one of two closed, %d places known", shown(), len(tab.probed))
	}
	k.closing[0]()
	if shown() != orig || len(tab.probed) != 0 {
		t.Errorf("shown %#x at the end, %d places known", shown(), len(tab.probed))
	}
	m.b[0] = breakByte
	if p := []byte{breakByte}; shown() != breakByte || !HasTrap(p) || HasTrap(p[:0]) {
		t.Error("an int3 of the program's own is hidden")
	}
}

// TestWriteBetweenProbes: int3s on both sides of a trap of the kernel are not
// written at once. That could restore a trap that the kernel removes meanwhile.
func TestWriteBetweenProbes(t *testing.T) {
	m := newText()
	k := &kernel{text: m}
	tab, u := NewTable(m), NewUprobes(k.probe, k.discard)
	mustAdd(t, tab, textBase)
	b, err := tab.AddTrap(textBase+16, u)
	must(t, err)
	mustAdd(t, tab, textBase+32)
	if n := tab.probed.run(tab.sorted); n != 3 {
		t.Fatalf("a run of %d where nothing is planted", n)
	}
	must(t, tab.Arm())
	must(t, tab.Remove(b))
	if n := tab.probed.run(tab.sorted); n != 1 {
		t.Errorf("a run of %d over a trap on its way out", n)
	}
}

// TestSharedProbe: a probe that two breakpoints have is discarded with the last of them, and both become int3s where one does.
func TestSharedProbe(t *testing.T) {
	m := newText()
	k := &kernel{text: m, prompt: true}
	var made Probe
	u := NewUprobes(func(b *Breakpoint) (Probe, error) {
		p, err := k.probe(b)
		if made == nil {
			made = p
		}
		return made, err
	}, k.discard)
	tab := NewTable(m)
	must(t, tab.Arm())
	set := func() (a, b *Breakpoint) {
		made = nil
		a, err := tab.AddTrap(textBase, u)
		must(t, err)
		b, err = tab.AddTrap(textBase+16, u)
		must(t, err)
		return a, b
	}
	a, b := set()
	must(t, tab.Remove(a))
	select {
	case <-made.Gone():
		t.Error("a probe that another breakpoint has is closed")
	default:
	}
	must(t, tab.Remove(b))
	<-made.Gone()
	m.b[16] = newText().b[16]
	a, b = set()
	m.b[16] = newText().b[16] // as the kernel would when it closes the probe
	must(t, tab.Change(a, tab.Default()))
	<-made.Gone()
	if a.After() || b.After() || m.b[0] != breakByte || m.b[16] != breakByte {
		t.Errorf("after the change: uprobes %t %t, text % x", a.After(), b.After(), m.b[:17])
	}
}

// TestChange: a breakpoint becomes another probe without a moment unprobed, and
// an int3 when a client writes its instruction.
func TestChange(t *testing.T) {
	m := newText()
	k := &kernel{text: m, prompt: true}
	count, stop := NewUprobes(k.probe, k.discard), NewUprobes(k.probe, k.discard)
	tab := NewTable(m)
	must(t, tab.Arm())
	b, err := tab.AddTrap(textBase, count)
	must(t, err)
	must(t, tab.Change(b, stop))
	if k.living() != 1 || count.Len() != 0 || stop.Len() != 1 || !b.Armed() || !b.After() {
		t.Errorf("%d probes, %d and %d, armed %t", k.living(), count.Len(), stop.Len(), b.Armed())
	}
	k.refuse = textBase
	if err := tab.Change(b, count); !errors.Is(err, errRefused) || !b.Armed() || stop.Len() != 1 {
		t.Errorf("Change: %v, armed %t, %d probes", err, b.Armed(), stop.Len())
	}
	must(t, tab.Write([]byte{0x90}, textBase))
	if k.living() != 0 || b.After() || !b.Armed() || m.b[0] != breakByte || b.Orig() != 0x90 {
		t.Errorf("written: %d probes, after %t, armed %t, byte %#x, original %#x", k.living(), b.After(), b.Armed(), m.b[0], b.Orig())
	}
	must(t, tab.Disarm())
	if m.b[0] != 0x90 {
		t.Errorf("byte %#x, want what was written", m.b[0])
	}
}

// TestChangeToProbe: an int3 becomes a probe, or stays where there can be none. A thread that has executed it before is set back.
func TestChangeToProbe(t *testing.T) {
	m := newText()
	k := &kernel{text: m, prompt: true, refuse: textBase}
	stop := NewUprobes(k.probe, k.discard)
	tab := NewTable(m)
	must(t, tab.Arm())
	b, err := tab.Add(textBase)
	must(t, err)
	if err := tab.Change(b, stop); !errors.Is(err, errRefused) || b.After() || !b.Armed() || m.b[0] != breakByte || len(tab.Of(tab.Default())) != 1 {
		t.Errorf("refused: %v, a probe %t, armed %t, text %#x", err, b.After(), b.Armed(), m.b[0])
	}
	k.refuse = 0
	must(t, tab.Change(b, stop))
	if !b.After() || !b.Armed() || stop.Len() != 1 || k.living() != 1 || len(tab.Of(tab.Default())) != 0 {
		t.Errorf("a probe %t, armed %t, %d probes", b.After(), b.Armed(), k.living())
	}
	if at, ok := tab.TrapAt(textBase); at != nil || !ok {
		t.Errorf("a thread behind the int3: %v, %t, want one that was lifted", at, ok)
	}
	must(t, tab.Disarm())
	text := []byte{m.b[0]}
	if tab.Overlay(text, textBase); m.b[0] != breakByte || text[0] != newText().b[0] {
		t.Errorf("the text is %#x, shown as %#x", m.b[0], text[0])
	}
	must(t, tab.Remove(b))
	if m.b[0] != newText().b[0] || k.living() != 0 {
		t.Errorf("at the end the text is %#x, with %d probes", m.b[0], k.living())
	}
}

func TestUprobesRefused(t *testing.T) {
	m := newText()
	k := &kernel{text: m, refuse: textBase}
	tab, u := NewTable(m), NewUprobes(k.probe, k.discard)
	must(t, tab.Arm())
	if _, err := tab.AddTrap(textBase, u); !errors.Is(err, errRefused) {
		t.Errorf("AddTrap: %v", err)
	}
	if tab.Len() != 0 || k.living() != 0 || u.Len() != 0 {
		t.Errorf("%d breakpoints, %d probes left", tab.Len(), k.living())
	}
}
