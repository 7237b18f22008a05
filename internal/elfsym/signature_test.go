package elfsym

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestSignature: parameters, their types, and where they are when a function begins.
func TestSignature(t *testing.T) {
	for _, c := range []struct{ flags, name, want string }{
		{"-O2 -gdwarf-5", "numbers", "a int 4 r5, b unsigned long 8 r4, c signed char 1 r1, color color 4 r2, s  8 r8, x double 8 r17, last unsigned char 1 r9, more long int 8 +0 -> int 4"},
		{"-O2 -gdwarf-4", "numbers", "a int 4 r5, b unsigned long 8 r4, c signed char 1 r1, color color 4 r2, s  8 r8, x double 8 r17, last unsigned char 1 r9, more long int 8 +0 -> int 4"},
		{"-O2 -gdwarf-2 -gstrict-dwarf", "objects", "p pair 8, big big 32, q  8 r4 -> pair 8"},
		{"-O0 -gdwarf-5", "objects", "p pair 8 frame, big big 32 +0, q  8 frame -> pair 8"},
	} {
		path := ptest.BuildC(t, "testdata/signatures.c", strings.Fields(c.flags)...)
		f := openPath(t, path)
		s, ok := f.ByName(c.name), false
		if len(s) > 0 {
			if sig := SignatureOf(f, s[0].Addr); sig != nil {
				if got := signatureText(sig); strings.ReplaceAll(got, "long unsigned int", "unsigned long") != c.want {
					t.Errorf("%s %s: %s\nwant %s", c.flags, c.name, got, c.want)
				}
				ok = true
			}
		}
		if !ok {
			t.Errorf("%s: no signature of %s", c.flags, c.name)
		}
	}
}

func signatureText(s *Signature) string {
	var parts []string
	for _, p := range s.Params {
		text := fmt.Sprint(p.Name, " ", p.Type.Name, " ", p.Type.Size)
		for _, at := range p.At {
			switch at.Kind {
			case InRegister:
				text += fmt.Sprint(" r", at.Reg)
			case OnStack:
				if at.Off < 0 {
					text += " frame"
					continue
				}
				text += fmt.Sprint(" +", at.Off)
			}
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	for _, r := range s.Results {
		text += fmt.Sprint(" -> ", r.Type.Name, " ", r.Type.Size)
	}
	return text
}

// TestTypes: members, elements and enumerators.
func TestTypes(t *testing.T) {
	f := openPath(t, ptest.BuildC(t, "testdata/signatures.c", "-O2", "-g"))
	sig := SignatureOf(f, f.ByName("numbers")[0].Addr)
	color := sig.Params[3].Type
	for name, n := range map[string]int64{"RED": 0, "GREEN": 200, "BLUE": -3} {
		if got, ok := color.Enumerator(n); !ok || got != name {
			t.Errorf("%d is %q", n, got)
		}
		if got, ok := color.Value(name); !ok || got != n {
			t.Errorf("%s is %d", name, got)
		}
	}
	if text := sig.Params[4].Type.Elem(); text.Kind != Char {
		t.Errorf("a text of kind %d", text.Kind)
	}
	sig = SignatureOf(f, f.ByName("objects")[0].Addr)
	var fields []string
	for _, m := range sig.Params[2].Type.Elem().Fields() {
		fields = append(fields, fmt.Sprint(m.Name, "@", m.Off, " ", m.Type.Size))
	}
	if got := strings.Join(fields, ", "); got != "a@0 4, b@4 2" {
		t.Errorf("members %s", got)
	}
	if a := sig.Params[1].Type.Fields()[0].Type; a.Kind != Array || a.Len() != 4 || a.Elem().Size != 8 {
		t.Errorf("array of %d", a.Len())
	}
}

func openPath(t *testing.T, path string) *File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(r, st.Size(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// FuzzPlaces: any expression is places within bounds, or none.
func FuzzPlaces(f *testing.F) {
	f.Add([]byte{0x55, 0x93, 8, 0x54, 0x93, 8}, true)
	f.Add([]byte{0x91, 0x10}, true)
	f.Add([]byte{0x9c, 0x11, 8, 0x22}, false)
	f.Fuzz(func(t *testing.T, expr []byte, cfa bool) {
		if places, ok := placesOf(expr, cfa); ok && (len(places) == 0 || len(places) > mostPlaces+1) {
			t.Errorf("%d places", len(places))
		}
	})
}
