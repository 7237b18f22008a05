package procfs

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSyscall(t *testing.T) {
	for _, c := range []struct {
		text string
		want Syscall
	}{
		{"running\n", Syscall{Running: true, Nr: -1}},
		{"-1 0x7ffd51a0 0x7f3c11\n", Syscall{Nr: -1, SP: 0x7ffd51a0, PC: 0x7f3c11}},
		{"202 0x5581 0x189 0x0 0x0 0x0 0xffffffff 0x7ffe9c40 0x7f1a22\n",
			Syscall{Nr: 202, Args: [6]uint64{0x5581, 0x189, 0, 0, 0, 0xffffffff}, SP: 0x7ffe9c40, PC: 0x7f1a22}},
		{"0 0x0 0x7f 0x1 0x2 0x3 0xffffffffffffffff 0x1 0x2",
			Syscall{Args: [6]uint64{0, 0x7f, 1, 2, 3, 1<<64 - 1}, SP: 1, PC: 2}},
	} {
		got, err := ParseSyscall([]byte(c.text))
		if err != nil || got != c.want {
			t.Errorf("ParseSyscall(%q) = %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "runn", "-1 0x1", "0 0x1 0x2", "7 1 2 3 4 5 6 7 x"} {
		if c, err := ParseSyscall([]byte(text)); err == nil {
			t.Errorf("ParseSyscall(%q) = %+v, want an error", text, c)
		}
	}
}

func TestParseSchedStat(t *testing.T) {
	got, err := ParseSchedStat([]byte("18446744073709551615 77 3\n"))
	if want := (SchedStat{1<<64 - 1, 77, 3}); err != nil || got != want {
		t.Errorf("ParseSchedStat = %+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{"", "1 2", "1 2 x", "18446744073709551616 1 1"} {
		if st, err := ParseSchedStat([]byte(text)); err == nil {
			t.Errorf("ParseSchedStat(%q) = %+v, want an error", text, st)
		}
	}
}

func FuzzParseSched(f *testing.F) {
	f.Add([]byte("running"))
	f.Add([]byte("-1 0x1 0x2"))
	f.Add([]byte("1 2 3 4 5 6 7 8 9"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseSyscall(b); err == nil && c.Running && c.Nr != -1 {
			t.Errorf("%q parses as %+v", b, c)
		}
		ParseSchedStat(b)
	})
}

func TestParseAuxv(t *testing.T) {
	words := []uint64{AuxEntry, 0x401000, AuxVDSO, 0x7fff0000, 6, 4096, 0, 0, 99, 99}
	want := Auxv{AuxEntry: 0x401000, AuxVDSO: 0x7fff0000, 6: 4096}
	var wide, narrow []byte
	for _, w := range words {
		wide = binary.LittleEndian.AppendUint64(wide, w)
		narrow = binary.LittleEndian.AppendUint32(narrow, uint32(w))
	}
	for width, b := range map[int][]byte{8: wide, 4: narrow} {
		got, err := ParseAuxv(b, width)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("ParseAuxv(width %d) = %v, %v; want %v", width, got, err, want)
		}
		if a, err := ParseAuxv(b[:width], width); err == nil {
			t.Errorf("ParseAuxv of a cut vector = %v, want an error", a)
		}
	}
	if a, err := ParseAuxv(narrow, 8); err == nil {
		t.Errorf("a 32-bit vector read as a 64-bit one = %v, want an error", a)
	}
}

func FuzzParseAuxv(f *testing.F) {
	f.Add(binary.LittleEndian.AppendUint64(nil, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, width := range []int{4, 8} {
			if a, err := ParseAuxv(b, width); err == nil && len(a) > len(b)/(2*width) {
				t.Errorf("%d entries of %d bytes", len(a), len(b))
			}
		}
	})
}
