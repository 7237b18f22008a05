package ptest

import "testing"

func TestProcessor(t *testing.T) {
	for _, tt := range []struct{ cpuinfo, want string }{
		{"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon: fast\nstepping\t: 8\n\nprocessor\t: 1\nmodel\t\t: 9\n",
			"Xeon: fast (GenuineIntel family 6 model 143 stepping 8)"},
		{"", "unknown (unknown family unknown model unknown stepping unknown)"},
	} {
		if got := processor(tt.cpuinfo); got != tt.want {
			t.Errorf("processor is %q, want %q", got, tt.want)
		}
	}
	if p := Processor(); p == "" || p == processor("") {
		t.Errorf("this machine's processor is %q", p)
	}
}
