package elfsym

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var stubLine = regexp.MustCompile(`^([0-9a-f]+) <([^>]+)@plt>:$`)

// TestPLTAgainstObjdump compares the names of all stubs, for the layouts of
// several linker options.
func TestPLTAgainstObjdump(t *testing.T) {
	for _, c := range []struct{ name, path string }{
		{"lazy", inlineProgram(t, "-Wl,-z,lazy")},
		{"now", inlineProgram(t, "-Wl,-z,now")},
		{"ibt", inlineProgram(t, "-fcf-protection", "-Wl,-z,ibtplt,-z,lazy")},
		{"nopie", inlineProgram(t, "-no-pie")},
		{"libc", "/lib/x86_64-linux-gnu/libc.so.6"},
		{"gdb", "/usr/bin/gdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := open(t, installed(t, c.path), nil)
			n := 0
			for line := range strings.Lines(output(t, "objdump", "-d", "--no-show-raw-insn", "-j", ".plt", "-j", ".plt.got", "-j", ".plt.sec", c.path)) {
				m := stubLine.FindStringSubmatch(strings.TrimSpace(line))
				if m == nil {
					continue
				}
				n++
				addr, _ := strconv.ParseUint(m[1], 16, 64)
				want, _, _ := strings.Cut(m[2], "@")
				got, ok := f.Symbol(addr + 1)
				if strings.HasPrefix(want, "*ABS*") {
					// We have the IFUNC's name, unlike objdump.
					if !ok || got.Kind != PLT || !strings.HasSuffix(got.Name, "@plt") {
						t.Errorf("%#x is %+v, objdump says %s", addr, got, want)
					}
					continue
				}
				if !ok || got.Kind != PLT || got.Raw != want+"@plt" || got.Addr != addr {
					t.Errorf("%#x is %+v %v, objdump says %s", addr, got, ok, want)
				}
				found := false
				for _, s := range f.ByName(want + "@plt") {
					found = found || s.Addr == addr
				}
				if !found {
					t.Errorf("ByName(%s@plt) does not find %#x", want, addr)
				}
			}
			if n < 3 {
				t.Fatalf("objdump shows only %d stubs", n)
			}
		})
	}
}
