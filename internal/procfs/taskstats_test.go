package procfs

import (
	"encoding/binary"
	"errors"
	"syscall"
	"testing"
)

// attr is an attribute as the kernel writes it.
func attr(typ uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(attrHeader+len(value)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = append(b, value...)
	return append(b, make([]byte, align4(len(value))-len(value))...)
}

// reply is a message of one of our families with these attributes.
func reply(typ uint16, attrs []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(netlinkHeader+genericHeader+len(attrs)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = append(b, make([]byte, 14)...)
	return append(b, attrs...)
}

// taskstats is the reply about a process.
func taskstats(sums TaskSum) []byte {
	stats := make([]byte, 560)
	binary.NativeEndian.PutUint64(stats[16:], sums.Slices)
	binary.NativeEndian.PutUint64(stats[24:], sums.Wait)
	binary.NativeEndian.PutUint64(stats[64:], sums.Run)
	binary.NativeEndian.PutUint64(stats[272:], sums.Yields)
	inner := append(attr(2, []byte{1, 0, 0, 0}), attr(taskstatsStats, stats)...)
	return reply(31, attr(taskstatsAggrTGID|0x8000, inner))
}

func TestParseTaskStats(t *testing.T) {
	want := TaskSum{SchedStat{Run: 1 << 63, Wait: 7, Slices: 119}, 23}
	whole := taskstats(want)
	if got, err := parseTaskStats(whole); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for size := range whole {
		if got, err := parseTaskStats(whole[:size]); err == nil {
			t.Fatalf("%d of %d bytes: %+v", size, len(whole), got)
		}
	}
	family := reply(ctrlFamily, append(attr(ctrlFamilyName, []byte("TASKSTATS\x00")), attr(ctrlFamilyID, []byte{31, 0})...))
	if id, err := parseFamily(family); err != nil || id != binary.NativeEndian.Uint16([]byte{31, 0}) {
		t.Errorf("family %d, %v", id, err)
	}
	refusal := reply(netlinkError, nil)
	binary.NativeEndian.PutUint32(refusal[netlinkHeader:], ^uint32(syscall.EPERM)+1)
	if _, err := parseTaskStats(refusal); !errors.Is(err, syscall.EPERM) {
		t.Errorf("refused: %v", err)
	}
}

func FuzzParseTaskStats(f *testing.F) {
	f.Add(taskstats(TaskSum{SchedStat{1, 2, 3}, 4}))
	f.Add(reply(netlinkError, nil))
	f.Add(reply(ctrlFamily, attr(ctrlFamilyID, []byte{31, 0})))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseFamily(b)
		if sums, err := parseTaskStats(b); err == nil && len(b) < taskstatsMinLength {
			t.Errorf("%+v out of %d bytes", sums, len(b))
		}
	})
}
