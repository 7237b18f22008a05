package elfsym

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// vdso returns this process's vDSO, which exists only in memory.
func vdso(t *testing.T) []byte {
	t.Helper()
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Skip("no /proc on this machine")
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		var start, end int64
		if !strings.HasSuffix(s.Text(), "[vdso]") {
			continue
		}
		if _, err := fmt.Sscanf(s.Text(), "%x-%x", &start, &end); err != nil {
			t.Fatal(err)
		}
		mem, err := os.Open("/proc/self/mem")
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Close()
		b := make([]byte, end-start)
		if _, err := mem.ReadAt(b, start); err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Skip("this kernel maps no vDSO")
	return nil
}

func TestVDSO(t *testing.T) {
	b := vdso(t)
	f, err := New(bytes.NewReader(b), int64(len(b)), "[vdso]", noSource{})
	if err != nil {
		t.Fatal(err)
	}
	s := f.ByName("__vdso_clock_gettime")
	if len(s) != 1 {
		t.Fatalf("__vdso_clock_gettime is %+v", s)
	}
	// The same function is also there without the prefix.
	if got, ok := f.Symbol(s[0].Addr + 1); !ok || got.Addr != s[0].Addr || got.Name != "clock_gettime" {
		t.Errorf("its address is %+v", got)
	}
	if _, _, ok := f.Section(".eh_frame"); !ok {
		t.Error("no .eh_frame")
	}
	if f.BuildID() == "" || len(f.Segments()) != 1 {
		t.Errorf("build id %q, segments %+v", f.BuildID(), f.Segments())
	}
}
