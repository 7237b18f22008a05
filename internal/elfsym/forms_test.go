package elfsym

import (
	"debug/elf"
	"os/exec"
	"strings"
	"testing"
)

// TestFormsOf: what is made of one reading of a name is what the demangler says for each form, of all functions of libstdc++
// and of names that have more.
func TestFormsOf(t *testing.T) {
	path, err := exec.Command("g++", "-print-file-name=libstdc++.so.6").Output()
	if err != nil {
		t.Skipf("g++: %v", err)
	}
	file, err := elf.Open(strings.TrimSpace(string(path)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil || len(symbols) < 1000 {
		t.Fatalf("%d symbols, %v", len(symbols), err)
	}
	names := []string{
		"", "main", "_Z", "_Z1", "_Z1fi", "_Z1fi.cold", "_Z1fi.constprop.0.isra.1", "_Z1fi@plt", "_ZZ4mainENKUliE_clEi", "_ZTv0_n24_N1A1fEv", "_ZThn16_N1A1fEv.cold",
		"_Z1fIiEvT_", "_ZN1AcvT_IiEEv", "_ZN1AD0Ev", "_ZGVZ1fvE1x", "_ZTS1A", "_Z3fooILi3EEvA__i", "_ZN3foo5__bar17h05af221e174051e9E", "_RNvC6_123foo3bar",
	}
	for _, s := range symbols {
		names = append(names, s.Name)
	}
	for _, name := range names {
		got, want := FormsOf(name), formsOneByOne(name)
		if got.Instance != "" && !strings.Contains(got.Full, got.Instance) {
			t.Errorf("%s: instance %q", name, got.Instance)
		}
		if got.Instance = ""; got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}
