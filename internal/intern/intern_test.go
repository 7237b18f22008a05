package intern

import (
	"slices"
	"testing"
)

func TestID(t *testing.T) {
	ids, list := make(map[string]uint32), []string{"none"}
	var got []uint32
	for _, k := range []string{"a", "b", "a", "c", "b"} {
		got = append(got, ID(ids, &list, k, k+"!"))
	}
	if want := []uint32{1, 2, 1, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("numbers %v, want %v", got, want)
	}
	if want := []string{"none", "a!", "b!", "c!"}; !slices.Equal(list, want) {
		t.Errorf("entries %v, want %v", list, want)
	}
	if n := testing.AllocsPerRun(100, func() { ID(ids, &list, "b", "other") }); n != 0 || list[2] != "b!" {
		t.Errorf("a known key: %v allocations, its entry is %q", n, list[2])
	}
}

func TestValue(t *testing.T) {
	values, made := make(map[int]string), 0
	for _, k := range []int{1, 2, 1} {
		if got := Value(values, k, func() string { made++; return "value" }); got != "value" {
			t.Errorf("%q", got)
		}
	}
	if made != 2 || len(values) != 2 {
		t.Errorf("%d made, %d kept", made, len(values))
	}
}
