package procfs

import (
	"math"
	"reflect"
	"testing"
)

func TestParseFDInfo(t *testing.T) {
	text := "pos:\t0\nflags:\t0100002\nmnt_id:\t29\nino:\t2531452\n" +
		"lock:\t1: FLOCK  ADVISORY  WRITE 3568 fd:00:2531452 0 EOF\n" +
		"lock:\t2: OFDLCK ADVISORY  READ -1 fd:00:2531452 50 59\n" +
		"lock:\tnonsense\n" +
		"tfd:        5 events:       19 data:                5  pos:0 ino:2a sdev:8\n" +
		"tfd:        6 events:        4 data: 6\ntfd: x\nPid:\t77\n"
	want := FDInfo{
		Mount: 29, Inode: 2531452, PID: 77,
		Locks: []Locked{
			{Kind: "FLOCK", Write: true, PID: 3568, Major: 0xfd, Inode: 2531452, To: math.MaxUint64},
			{Kind: "OFDLCK", PID: -1, Major: 0xfd, Inode: 2531452, From: 50, To: 59},
		},
		Polled: []Polled{{FD: 5, Events: 0x19, Inode: 42}, {FD: 6, Events: 4}},
	}
	if got := parseFDInfo(text); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestExcludes(t *testing.T) {
	file := Locked{Kind: "POSIX", Write: true, Inode: 1, From: 10, To: 19}
	for _, tt := range []struct {
		change func(*Locked)
		want   bool
	}{
		{func(*Locked) {}, true},
		{func(l *Locked) { l.Write = false }, true},
		{func(l *Locked) { l.Kind = "OFDLCK" }, true},
		{func(l *Locked) { l.Kind = "FLOCK" }, false},
		{func(l *Locked) { l.From = 20 }, false},
		{func(l *Locked) { l.From, l.To = 0, 10 }, true},
		{func(l *Locked) { l.Inode = 2 }, false},
		{func(l *Locked) { l.Minor = 1 }, false},
	} {
		want := file
		want.To = math.MaxUint64
		tt.change(&want)
		if got := file.Excludes(want); got != tt.want {
			t.Errorf("%+v is in the way of %+v: %v", file, want, got)
		}
	}
}

func TestParseIPC(t *testing.T) {
	messages := "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime\n" +
		"      1234          7   600          10          1    42    43     0     0     0     0          0          0          0\n" +
		"        -1          8   600           0          0     0     0     0     0     0     0          0          0          0\n"
	if got, ok := parseIPC(messages, 7); !ok || got != (IPC{ID: 7, Key: 1234, LastSender: 42, LastReceiver: 43}) {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, ok := parseIPC(messages, 8); !ok || got.Key != math.MaxUint32 {
		t.Errorf("%+v, %v", got, ok)
	}
	sets := "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n        99          3   600          3     0     0     0     0          0          0\n"
	if got, ok := parseIPC(sets, 3); !ok || got != (IPC{ID: 3, Key: 99}) {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, ok := parseIPC("", 3); ok {
		t.Errorf("%+v", got)
	}
}

func FuzzFDInfo(f *testing.F) {
	f.Add("tfd: 5 events: 19 data: 5 ino:2a\nlock:\t1: POSIX ADVISORY WRITE 1 00:00:1 0 EOF\n")
	f.Fuzz(func(_ *testing.T, text string) { parseFDInfo(text); parseIPC(text, 1) })
}
