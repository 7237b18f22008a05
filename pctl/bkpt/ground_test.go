package bkpt

import (
	"bytes"
	"errors"
	"testing"
)

// TestGround: an int3 is planted in text only. If other memory is mapped there, whatever its contents, the int3 is not
// planted again, and nothing is lifted.
func TestGround(t *testing.T) {
	text := Mapping{Start: textBase, End: textBase + 1<<20, File: File{8, 1, 77}, Off: 0x1000, Exec: true}
	for name, c := range map[string]struct {
		now Mapping
		ok  bool
		why error
	}{
		"the same":     {text, true, nil},
		"split":        {Mapping{textBase, textBase + 4096, text.File, text.Off, false, true}, true, nil},
		"written":      {Mapping{textBase, textBase + 4096, text.File, text.Off, false, false}, true, nil},
		"gone":         {Mapping{}, false, ErrTextGone},
		"data":         {Mapping{Start: textBase, End: text.End}, true, ErrNotText},
		"other code":   {Mapping{Start: textBase, End: text.End, Exec: true}, true, ErrTextReplaced},
		"other file":   {Mapping{textBase, text.End, File{8, 1, 78}, text.Off, false, true}, true, ErrTextReplaced},
		"other offset": {Mapping{textBase, text.End, text.File, 0, false, true}, true, ErrTextReplaced},
		"shared":       {Mapping{textBase, text.End, text.File, text.Off, true, true}, true, ErrSharedText},
	} {
		t.Run(name, func(t *testing.T) {
			for _, armed := range []bool{false, true} {
				m, g := newText(), &oneMapping{m: text, ok: true}
				tab := NewTable(m)
				tab.SetGround(g)
				b := mustAdd(t, tab, textBase)
				if armed {
					must(t, tab.Arm())
				}
				g.m, g.ok = c.now, c.ok
				before := bytes.Clone(m.b)
				if armed {
					must(t, tab.Disarm())
				} else {
					must(t, tab.Arm())
				}
				ended := tab.TakeEnded()
				if c.why == nil {
					if len(ended) != 0 || b.dead || bytes.Equal(before, m.b) {
						t.Errorf("armed %t: ended: %+v", armed, ended)
					}
					continue
				}
				m.check(t, before)
				if len(ended) != 1 || ended[0].Breakpoint != b || !errors.Is(ended[0].Why, c.why) || !b.dead || b.Armed() {
					t.Errorf("armed %t: ended: %+v, dead %t", armed, ended, b.dead)
				}
			}
		})
	}
}

// TestGroundRefused: an int3 is not planted in memory that is not text.
func TestGroundRefused(t *testing.T) {
	m, g := newText(), &oneMapping{m: Mapping{Start: textBase, End: textBase + 1<<20, Exec: true, Shared: true}, ok: true}
	orig := bytes.Clone(m.b)
	tab := NewTable(m)
	tab.SetGround(g)
	must(t, tab.Arm())
	if _, err := tab.Add(textBase); !errors.Is(err, ErrSharedText) {
		t.Errorf("shared: %v", err)
	}
	g.m.Shared, g.m.Exec = false, false
	if _, err := tab.Add(textBase); !errors.Is(err, ErrNotText) {
		t.Errorf("data: %v", err)
	}
	g.m.File.Inode = 7
	if _, err := tab.Add(textBase); !errors.Is(err, ErrNotText) {
		t.Errorf("data of a file: %v", err)
	}
	if err := tab.Scratch().Reserve(textBase, 256); err != nil {
		t.Errorf("scratch: %v", err)
	}
	g.m.Shared = true
	if err := tab.Scratch().Reserve(textBase, 256); !errors.Is(err, ErrSharedText) {
		t.Errorf("scratch in shared memory: %v", err)
	}
	m.check(t, orig)
}

// TestGroundOfChild: nothing is changed in a forked child that has other memory there.
func TestGroundOfChild(t *testing.T) {
	for _, removed := range []bool{false, true} {
		m, g := newText(), &oneMapping{m: Mapping{Start: textBase, End: textBase + 1<<20, File: File{8, 1, 77}, Exec: true}, ok: true}
		orig := bytes.Clone(m.b)
		tab := NewTable(m)
		tab.SetGround(g)
		must(t, tab.Arm())
		b := mustAdd(t, tab, textBase)
		child := newText()
		copy(child.b, m.b)
		if removed {
			must(t, tab.Remove(b))
		}
		armed := bytes.Clone(child.b)
		other := *g
		other.m.File.Inode++
		must(t, tab.Clean(child, &other))
		child.check(t, armed)
		must(t, tab.Clean(child, &oneMapping{}))
		child.check(t, armed)
		must(t, tab.Clean(child, g))
		child.check(t, orig)
	}
}

// TestGroundAskedOnce: the Ground is asked once for neighbours, which are in one mapping.
func TestGroundAskedOnce(t *testing.T) {
	g := &oneMapping{m: Mapping{Start: textBase, End: textBase + 1<<20, Exec: true}, ok: true}
	tab := NewTable(newText())
	tab.SetGround(g)
	for i := range uint64(50) {
		mustAdd(t, tab, textBase+16*i)
	}
	g.asked = 0
	must(t, tab.Arm())
	if g.asked != 1 {
		t.Errorf("asked %d times", g.asked)
	}
}

// oneMapping is a Ground.
type oneMapping struct {
	m     Mapping
	ok    bool
	asked int
}

func (g *oneMapping) Mapping(addr uint64) (Mapping, bool, error) {
	g.asked++
	return g.m, g.ok && g.m.Start <= addr && addr < g.m.End, nil
}
