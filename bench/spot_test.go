package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// perfFile makes a perf.data of records of samples with ip, tid, time, period and user registers.
func perfFile(records ...[]byte) []byte {
	const attr, data = perfHeader, perfHeader + 32
	body := slices.Concat(records...)
	b := binary.LittleEndian.AppendUint64([]byte(perfMagic), 104)
	for _, word := range []uint64{136, attr, 32, data, uint64(len(body))} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	for _, word := range []uint64{0, 0, 0, 1<<0 | sampleTID | 1<<2 | 1<<8 | sampleUserRegs, 0} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return append(b[:data], body...)
}

func perfSample(kind uint32, pid uint32, regs ...uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(8+32+8*len(regs))<<16)
	b = binary.LittleEndian.AppendUint64(b, 0xffffffff81000000)
	b = binary.LittleEndian.AppendUint32(b, pid)
	b = binary.LittleEndian.AppendUint32(b, pid+1)
	b = append(b, make([]byte, 16)...)
	for _, word := range regs {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

func TestPerfData(t *testing.T) {
	b := perfFile(perfSample(recordSample, 7, 2, 0x1234), perfSample(17, 7, 0), perfSample(recordSample, 7, 0),
		perfSample(recordSample, 8, 2, 0x5678), perfSample(recordSample, 9, 2, 0x9abc))
	want := []spot{{7, 0x1234, 1}, {7, 0, 1}, {9, 0x9abc, 1}}
	if got, err := parsePerfData(b, []int{7, 9}); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for n := range b { // a cut file is no reason to crash
		parsePerfData(b[:n], []int{7})
	}
	if _, err := parsePerfData(bytes.Repeat([]byte{1}, 200), nil); err == nil {
		t.Error("anything is a perf.data")
	}
}

func TestDocumentSpots(t *testing.T) {
	d := new(document)
	d.Threads = []docThread{{7}}
	for _, address := range []string{"", "0x10", "0x20"} {
		d.Locations = append(d.Locations, docLocation{Address: address})
	}
	for _, stack := range [][]int{{0, 1, 2}, {2, 1}, {0}} {
		d.Samples = append(d.Samples, docSample{Stack: stack, CPU: 5})
	}
	want := []spot{{7, 0x10, 5}, {7, 0x20, 5}, {7, 0, 5}}
	if got, err := d.spots(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestPlaces finds functions by address, in files with and without symbols, and in code without a file.
func TestPlaces(t *testing.T) {
	p, pid := newPlaces(), os.Getpid()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := uint64(reflect.ValueOf(TestPlaces).Pointer())
	if got, want := p.name(spot{pid: pid, addr: here}), "ptools/bench.TestPlaces ("+filepath.Base(exe)+")"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f, err := elf.Open("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, found := f.Section(".text"), map[string]bool{}
	for off := range text.Size {
		found[p.inFile("/bin/sh", text.Offset+off)] = true
	}
	if len(found) < 50 {
		t.Errorf("%d functions in a stripped file", len(found))
	}
	file := fmt.Sprintf("/tmp/perf-%d.map", pid)
	defer os.Remove(file)
	if err := os.WriteFile(file, []byte("20 10 second\n10 8 first one\n20 8 third\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0: "", 8: "[anonymous]", 0x10: "first one", 0x18: "[anonymous]", 0x27: "third"} {
		if got := p.name(spot{pid: pid, addr: addr}); got != want {
			t.Errorf("at %#x: %q, want %q", addr, got, want)
		}
	}
}

func TestMedians(t *testing.T) {
	name, v := medians([]differences{{"f": 1, "g": -3}, {"f": 2, "g": -5}, {"g": 1}}).worst()
	if name != "g" || v != -3 {
		t.Errorf("%s %v", name, v)
	}
	if name, v := (differences{}).worst(); name != "" || v != 0 {
		t.Errorf("of nothing: %s %v", name, v)
	}
}
