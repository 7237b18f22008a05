package pctl

import "testing"

func TestParseWhere(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Where
	}{
		{"malloc", Where{Symbol: "malloc"}},
		{"malloc+4", Where{Symbol: "malloc", Offset: 4}},
		{"malloc+0x1f", Where{Symbol: "malloc", Offset: 0x1f}},
		{"libc.so.6`malloc", Where{Object: "libc.so.6", Symbol: "malloc"}},
		{"/lib/x+1.so`f+010", Where{Object: "/lib/x+1.so", Symbol: "f", Offset: 8}},
		{"0x401000", Where{Addr: 0x401000}},
		{"0XFFFFFFFFFF600000", Where{Addr: 0xffffffffff600000}},
		{"operator+", Where{Symbol: "operator+"}},
		{"Vec::operator+(int)", Where{Symbol: "Vec::operator+(int)"}},
		{"operator++2", Where{Symbol: "operator+", Offset: 2}},
		{"main.(*T).Run", Where{Symbol: "main.(*T).Run"}},
		{"memcpy@GLIBC_2.14", Where{Symbol: "memcpy@GLIBC_2.14"}},
		{"+4", Where{Symbol: "+4"}},
		{"operator*", Where{Symbol: "operator*"}},
		{"ns::Vec::operator*=", Where{Symbol: "ns::Vec::operator*="}},
		{"f(char*, int)", Where{Symbol: "f(char*, int)"}},
		{"main.sum[go.shape.*uint8]", Where{Symbol: "main.sum[go.shape.*uint8]"}},
		{"foo::{closure#0}", Where{Symbol: "foo::{closure#0}"}},
		{"ns::f", Where{Symbol: "ns::f"}},
		{"type:.eq.main.T", Where{Symbol: "type:.eq.main.T"}},
		{"deadbeef", Where{Symbol: "deadbeef"}},
		{"mall*", Where{Symbol: "mall*"}},
		{"a.out`f?o+4", Where{Object: "a.out", Symbol: "f?o", Offset: 4}},
		{"lib*`*alloc", Where{Object: "lib*", Symbol: "*alloc"}},
		{"main.c:42", Where{File: "main.c", Line: 42}},
		{"src/main.go:7", Where{File: "src/main.go", Line: 7}},
		{"a.out`x.rs:1", Where{Object: "a.out", File: "x.rs", Line: 1}},
		{"f+1+0", Where{Symbol: "f+1"}},
		{"f+1+0x0", Where{Symbol: "f+1"}},
	} {
		got, err := ParseWhere(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseWhere(%q) = %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", "0x", "0x12+4", "0xzz", "0x11112222333344445", "`f", "lib`", "f+0x11112222333344445",
		"main.c:0", "main.c:7+4", "m*.c:7", "main.c:99999999999999999999",
		"libc.so.6:malloc", "/usr/bin/bank:transfer", "401000", "7f00deadbeef"} {
		if got, err := ParseWhere(in); err == nil {
			t.Errorf("ParseWhere(%q) = %+v; want an error", in, got)
		}
	}
}

func TestIsPattern(t *testing.T) {
	for symbol, want := range map[string]bool{
		"mall*": true, "*": true, "f?o": true, "ns::*": true, "put(*)": true, "Box<*>::put": true, "Map<int, *>::put": false, "main.(*T).*": true,
		"*::operator()": true, "main.(*T).Run": false, "f(char*, int)": false, "f(char *)": false, "Box<char*>::put": false, "operator*": false,
		"ns::Vec::operator*=": false, "main.sum[go.shape.*uint8]": false, "main.sum[*]": true, "malloc": false, "": false,
	} {
		if got := (Where{Symbol: symbol}).IsPattern(); got != want {
			t.Errorf("%q is a pattern: %t", symbol, got)
		}
	}
}

// FuzzParseWhere checks that what is accepted survives printing and reading.
func FuzzParseWhere(f *testing.F) {
	for _, s := range []string{"malloc", "libc.so.6`free+0x10", "0x401000", "operator+", "a`b`c+1", "+", "f++1", "0+0+0", "f+1+0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := ParseWhere(s)
		if err != nil {
			return
		}
		again, err := ParseWhere(w.String())
		if err != nil {
			t.Fatalf("ParseWhere(%q) = %+v prints as %q: %v", s, w, w.String(), err)
		}
		if again != w {
			t.Fatalf("ParseWhere(%q) = %+v, after printing %+v", s, w, again)
		}
	})
}
