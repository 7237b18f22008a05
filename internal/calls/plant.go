package calls

import (
	"fmt"
	"maps"
	"os"
	"strconv"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/pctl/handle"
)

// A probedText is the text of an object, and where its probes are.
type probedText struct {
	file          *os.File
	name          string     // of the object
	mapped        procfs.Map // where it is mapped, when it is probed
	entries, ends []perfevent.CallPlace
}

// path is what the kernel finds the file by.
func (p *probedText) path() string { return "/proc/self/fd/" + strconv.Itoa(int(p.file.Fd())) }

// prepare finds the places of the probes of one object.
func (w *Watch) prepare(o *object, targets []Target) error {
	file, m, err := o.openText(w)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Path, err)
	}
	p := probedText{file: file, name: o.Path}
	if len(m) > 0 {
		p.mapped = m[0]
	}
	text := textOf{mem: w.memory, o: &o.Object, maps: m, file: blocks{Code: o.File}}
	for i := range targets {
		t := &targets[i]
		if t.Err != nil {
			continue
		}
		if !o.ahead {
			if t.Err = text.check(&t.Found); t.Err != nil {
				continue
			}
		}
		condition, err := t.condition()
		if t.Err = err; err != nil {
			continue
		}
		copies := t.copies()
		w.kernel.Copy(t.number, &copies)
		entry := t.place(&o.Object, &t.Plan.Entry)
		entry.Condition = condition
		if w.spec.Each && (t.Plan.Whole != nil || t.Plan.Entry.Tail) {
			entry.Mode = perfevent.CallAtOnce
		}
		p.entries = append(p.entries, entry)
		for j := range t.Plan.Returns {
			p.ends = append(p.ends, t.place(&o.Object, &t.Plan.Returns[j]))
		}
	}
	w.texts = append(w.texts, p)
	return nil
}

// plant makes the probes that the levels of the functions want. It returns the functions of which the kernel refuses ends, or the entry.
func (w *Watch) plant() (refusedEnds, refused map[int]error) {
	refusedEnds, refused = map[int]error{}, map[int]error{}
	for i := range w.texts {
		p := &w.texts[i]
		var ends, entries []perfevent.CallPlace
		for _, end := range p.ends {
			if w.Coverage(w.numbered[end.Function]).Level == Timed {
				ends = append(ends, end)
			}
		}
		maps.Copy(refusedEnds, w.kernel.Attach(p.path(), false, ends))
		for _, entry := range p.entries {
			switch w.Coverage(w.numbered[entry.Function]).Level {
			case Counted:
				entry.Mode = perfevent.CallCounted
			case Windowed, Off:
				continue
			}
			entries = append(entries, entry)
		}
		maps.Copy(refused, w.kernel.Attach(p.path(), true, entries))
	}
	return refusedEnds, refused
}

// place describes a place for the kernel.
func (t *Target) place(o *handle.Object, p *Place) perfevent.CallPlace {
	place := perfevent.CallPlace{
		Off: offset(o.File, p.Addr), Addr: p.Addr + o.Bias, Function: t.number, Slot: p.Slot, Goroutine: t.Convention == Go, Ends: p.ends(),
		Stepped: !p.Emulated, Cond: p.Cond, Amount: t.sum,
	}
	if t.by != nil {
		place.Key = t.by.kernel
	}
	return place
}

// offset returns the offset in its file of a link-time address, which a plan has read there.
func offset(f *elfsym.File, addr uint64) uint64 {
	for _, s := range f.Segments() {
		if s.Vaddr <= addr && addr-s.Vaddr < s.Filesz {
			return addr - s.Vaddr + s.Off
		}
	}
	return 0
}
