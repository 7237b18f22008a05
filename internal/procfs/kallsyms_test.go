package procfs

import (
	"strings"
	"testing"
)

const kallsyms = `ffffffff81000000 T _stext
ffffffff81000000 T startup_64
ffffffff81000100 t helper
ffffffff81000080 W weak
ffffffff82000000 D data
ffffffffc0001000 t driver_probe	[driver]
0000000000000000 A fixed_percpu_data
nonsense
`

// TestKernelSymbols: text symbols by address, the first name of several.
func TestKernelSymbols(t *testing.T) {
	k, err := parseKallsyms(strings.NewReader(kallsyms))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0xffffffff80ffffff: "[unknown]", 0xffffffff81000000: "_stext", 0xffffffff8100007f: "_stext",
		0xffffffff81000080: "weak", 0xffffffff810001ff: "helper", 0xffffffffc0001004: "driver_probe",
	} {
		if got := k.Name(addr); got != want {
			t.Errorf("%#x is in %q, not %q", addr, got, want)
		}
	}
}

// TestHiddenKernelSymbols: a list whose addresses are all zero is an error.
func TestHiddenKernelSymbols(t *testing.T) {
	if _, err := parseKallsyms(strings.NewReader("0000000000000000 T _stext\n0000000000000000 t helper\n")); err != errNoAddresses {
		t.Errorf("error %v", err)
	}
}

func FuzzKallsyms(f *testing.F) {
	f.Add(kallsyms)
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := parseKallsyms(strings.NewReader(text)); err == nil {
			k.Name(0)
			k.Name(^uint64(0))
		}
	})
}
