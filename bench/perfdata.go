package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
)

// The parts of a perf.data file that are read (linux/tools/perf/Documentation/perf.data-file-format.txt)
// and of a sample (perf_event_open(2)).
const (
	perfMagic      = "PERFILE2"
	perfHeader     = 56 // magic, sizes, then the sections of attributes and of data
	recordSample   = 9
	sampleTID      = 1 << 1
	sampleUserRegs = 1 << 12
	// sampleWords are the parts before the user's registers that are one word each, in this order:
	// identifier (1<<16, which comes first), ip, tid, time, addr, id, stream id, cpu, period.
	sampleWords = 1<<16 | 1<<0 | sampleTID | 1<<2 | 1<<3 | 1<<6 | 1<<9 | 1<<7 | 1<<8
)

// readPerfData returns the user-mode places of some processes in a file of perf record --user-regs=ip.
// perf script (6.1) cannot be used: it fails for a file during whose recording a BPF program was
// loaded.
func readPerfData(path string, pids []int) ([]spot, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	spots, err := parsePerfData(b, pids)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return spots, nil
}

var errPerfData = errors.New("not what perf record writes")

func parsePerfData(b []byte, pids []int) (spots []spot, err error) {
	u64 := binary.LittleEndian.Uint64
	if len(b) < perfHeader || string(b[:8]) != perfMagic {
		return nil, errPerfData
	}
	attr, data, size := u64(b[24:]), u64(b[40:]), u64(b[48:])
	n := uint64(len(b))
	if attr > n || n-attr < 32 || data > n || size > n-data {
		return nil, errPerfData
	}
	kind := u64(b[attr+24:]) // sample_type of the first event; the others have no samples
	first := 8 * bits.OnesCount64(kind&sampleWords)
	if kind&sampleTID == 0 || kind&sampleUserRegs == 0 || kind&(sampleUserRegs-1)&^sampleWords != 0 {
		return nil, fmt.Errorf("samples of type %#x", kind)
	}
	tid := 8 * bits.OnesCount64(kind&(1<<16|1<<0))
	for b = b[data : data+size]; len(b) >= 8; {
		length := int(binary.LittleEndian.Uint16(b[6:]))
		if length < 8 || length > len(b) {
			return nil, errPerfData
		}
		record := b[:length]
		b = b[length:]
		if binary.LittleEndian.Uint32(record) != recordSample {
			continue
		}
		body := record[8:]
		if len(body) < first+8 {
			return nil, errPerfData
		}
		s := spot{pid: int(binary.LittleEndian.Uint32(body[tid:])), weight: 1}
		if !slices.Contains(pids, s.pid) {
			continue
		}
		// Without registers of user mode the word with their ABI is 0.
		if abi := u64(body[first:]); abi != 0 && len(body) >= first+16 {
			s.addr = u64(body[first+8:])
		}
		spots = append(spots, s)
	}
	return spots, nil
}
