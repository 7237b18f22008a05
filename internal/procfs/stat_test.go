package procfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const tail = " S 41 42 43 34816 44 4194560 100 2 3 4 50 60 7 8 20 0 9 0 8724 11485184 1000 18446744073709551615 94001 95002 140723000000000 0 0 0 65536 3670020 1266777851 0 0 0 17 1 0 0 0 0 0 95100 95200 95300 140723000001000 140723000001010 140723000001010 140723000004095 0\n"
	for _, c := range []struct{ comm, want string }{
		{"bash", "bash"},
		{"", ""},
		{") S 1 1 (", ") S 1 1 ("},
		{`two\nlines`, "two\nlines"},
		{"raw\nline", "raw\nline"},
		{`back\\slash`, `back\slash`},
		{`\\n`, `\n`},
		{`end\`, `end\`},
		{"a b c", "a b c"},
		{"\xff\x1b[31m", "\xff\x1b[31m"},
	} {
		got, err := ParseStat([]byte("4242 (" + c.comm + ")" + tail))
		want := Stat{
			PID: 4242, Comm: c.want, State: 'S', PPID: 41,
			Flags: 4194560, UTime: 50, STime: 60, Threads: 9, StartTime: 8724,
			Size: 11485184, StartCode: 94001, StartStack: 140723000000000, Processor: 1,
			ArgStart: 140723000001000, EnvStart: 140723000001010,
		}
		if err != nil {
			t.Errorf("comm %q: %v", c.comm, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("comm %q (-want +got):\n%s", c.comm, diff)
		}
	}
	for _, text := range []string{"", "1 (x", "1 (x) ", "1 (x) S", "(x) S 1", "1 )x( S 1 2 3", "x (y)" + tail} {
		if _, err := ParseStat([]byte(text)); err == nil {
			t.Errorf("ParseStat(%q) reports no error", text)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (a) b) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 1 1 1 1 1 1 1 1 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		plain, err := ParseStat(b)
		again, err2 := parseStat(b, plain.Comm)
		if (err == nil) != (err2 == nil) || err == nil && plain != again {
			t.Errorf("%q parses as %+v and, with its name known, as %+v", b, plain, again)
		}
	})
}

const statusText = "Name:\ttwo\\nlines: x\n" +
	"Umask:\t0022\nState:\tt (tracing stop)\nTgid:\t77\nNgid:\t0\nPid:\t78\nPPid:\t5\nTracerPid:\t99\n" +
	"Uid:\t1000\t1001\t1002\t1003\nGid:\t1\t2\t3\t4\nFDSize:\t64\nGroups:\t4 24 \nNStgid:\t77\t7\nNSpid:\t78\t8\t1\n" +
	"Kthread:\t0\nVmPeak:\t    9000 kB\nThreads:\t3\nSigQ:\t1/100\nSigPnd:\t0000000000000400\nShdPnd:\t0000000000000001\n" +
	"SigBlk:\t8000000000000000\nSigIgn:\t0000000000001000\nSigCgt:\tffffffffffffffff\nCapInh:\t0000000000000000\n" +
	"CapPrm:\t000001ffffffffff\nCapEff:\t00000000000001ff\nSeccomp:\t2\nSpeculation_Store_Bypass:\tthread vulnerable\nCpus_allowed:\t3\n"

func TestParseStatus(t *testing.T) {
	got, err := ParseStatus([]byte(statusText))
	want := Status{
		State: 't', Tgid: 77, PID: 78, TracerPID: 99,
		UID: [4]int{1000, 1001, 1002, 1003}, GID: [4]int{1, 2, 3, 4},
		SigPnd: 0x400, SigBlk: 1 << 63, SigIgn: 0x1000, SigCgt: 1<<64 - 1,
		CapPrm: 0x1ffffffffff, CapEff: 0x1ff, NSpid: []int{78, 8, 1}, Threads: 3,
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseStatus (-want +got):\n%s", diff)
	}
	if got.InnerPID() != 1 {
		t.Errorf("InnerPID() = %d, want 1", got.InnerPID())
	}
	for _, text := range []string{"", "Name:\tx\n", "Pid\n", "Pid:\tx\nState:\tR\n", "State:\tR\nPid:\t1\nUid:\t1\n"} {
		if _, err := ParseStatus([]byte(text)); err == nil {
			t.Errorf("ParseStatus(%q) reports no error", text)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(statusText))
	f.Fuzz(func(t *testing.T, b []byte) {
		if st, err := ParseStatus(b); err == nil && st.State == 0 {
			t.Errorf("%q parses without a state", b)
		}
	})
}
