package unwind

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/internal/x86"
)

// programs are programs of the distribution: interpreters with deep stacks,
// just-in-time compilers, hand-written assembler, and programs that wait.
var programs = [][]string{
	{"python3", "-c", "import threading\ndef f(n):\n return sum(i*i for i in range(n))\ndef g():\n while True: f(1000)\nthreading.Thread(target=g).start()\ng()"},
	{"python3", "-c", "import re,json\nwhile True: json.dumps(json.loads('[1,2,{\"a\":[3.5,null]}]'*1)); re.sub('a+b','x','aaab'*50); sorted(range(1000),key=lambda x:-x)"},
	{"node", "-e", "function f(n){return n<2?n:f(n-1)+f(n-2)}; for(;;) f(20)"},
	{"gdb", "-nx", "-q"},
	{"perl", "-e", "while(1){ my %h=map{$_=>1}1..100; my $s=join ',',sort keys %h; $s=~s/1+/x/g }"},
	{"awk", "BEGIN{while(1){x=sprintf(\"%d%s\",i++,x); x=substr(x,1,50); gsub(/1/,\"2\",x)}}"},
	{"bash", "-c", "while :; do x=${x:0:20}a$((i++)); done"},
	{"dash", "-c", "while :; do x=$((x+1)); done"},
	{"openssl", "speed", "-seconds", "100", "sha256"},
	{"openssl", "speed", "-seconds", "100", "rsa2048"},
	{"sha256sum", "/dev/zero"},
	{"gzip", "-c", "/dev/zero"},
	{"xz", "-c", "/dev/zero"},
	{"bzip2", "-c", "/dev/zero"},
	{"grep", "-c", "x.*y", "/dev/zero"},
	{"yes"},
	{"cat", "/dev/zero"},
	{"cat"},
	{"sleep", "100000"},
	{"tail", "-f", "/dev/null"},
	{"sed", "s/a/b/"},
	{"tr", "a", "b"},
	{"git", "stripspace"},
	{"ssh-agent", "-D"},
	{"bc", "-q"},
}

// animals are further programs, which only make zoo installs and tests.
var animals = [][]string{
	{"ruby", "-e", "def f(n) n < 2 ? n : f(n-1) + f(n-2) end; loop { f(12); (1..100).map { |x| x.to_s }.sort; 'aab' =~ /a+b/ }"},
	{"php", "-r", "while (1) { $a = range(1, 100); usort($a, fn($x, $y) => $y - $x); preg_replace('/a+b/', 'x', 'aaab'); json_encode($a); }"},
	{"lua5.4", "-e", "while true do table.sort({3, 1, 2}, function(a, b) return a > b end); local s = ('x'):rep(100):gsub('x', string.upper) end"},
	{"luajit", "-e", "local x = 0 while true do for i = 1, 1000 do x = x + i % 7 end; ('x'):rep(100):gsub('x', string.upper) end"},
	{"sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i+1 from n) select count(*), sum(length(i)) from n"},
	{"busybox", "sh", "-c", "while :; do x=$((x+1)); done"},
	{"guile", "--no-auto-compile", "-c", "(let loop ((i 0)) (sort (iota 100) >) (number->string i) (loop (+ i 1)))"},
	{"tclsh"},
	{"zstd", "-b3", "-i100000"},
	{"md5sum", "/dev/zero"},
	{"od", "-v", "/dev/zero"},
	{"xxd", "/dev/zero"},
	{"top", "-b", "-d", "0.01"},
}

// TestPeer compares whole stacks with eu-stack's and gdb's, of the same process stopped at the
// same instruction.
func TestPeer(t *testing.T) {
	comparePeers(t, programs, ptest.Rounds(1, 2, 5), ptest.Rounds(0, 1, 5))
}

// TestPeerZoo does the same with more programs, more often.
func TestPeerZoo(t *testing.T) {
	ptest.Zoo(t)
	comparePeers(t, slices.Concat(programs, animals), 5, 5)
}

// comparePeers stops each program several times. It asks gdb too at the first stop only, because
// that takes longer than anything else here.
func comparePeers(t *testing.T, programs [][]string, stops, debugged int) {
	ptest.Need(t, "eu-stack")
	ptest.Need(t, "gdb")
	compared := map[string]bool{}
	for i, argv := range programs {
		if _, err := exec.LookPath(argv[0]); err != nil {
			continue
		}
		compared[argv[0]] = true
		t.Run(fmt.Sprintf("%d-%s", i, argv[0]), func(t *testing.T) {
			// The output is discarded, so that it fills no pipe.
			sh := append([]string{"sh", "-c", `exec 3>&1; exec >/dev/null; echo ready >&3; exec 3>&-; exec "$@"`, "sh"}, argv...)
			target := ptest.Start(t, sh...)
			target.Ready()
			target.WaitFor("exec", func() bool {
				comm, _ := procfs.ReadComm(target.PID, target.PID)
				return comm != "sh"
			})
			warmUp(target.PID)
			for i := range stops {
				comparePeer(t, argv[0], target, i < debugged)
			}
		})
	}
	t.Logf("%d different programs", len(compared))
	if len(compared) < 10 {
		t.Errorf("only %d of these programs are installed", len(compared))
	}
}

// comparePeer stops the target, and lets it run again.
func comparePeer(t *testing.T, program string, target *ptest.Target, debugged bool) {
	await(target.PID)
	target.Signal(syscall.SIGSTOP)
	target.WaitFor("stop", target.Stopped)
	ours := stacksOf(t, target.PID)
	// Without a limit it never ends in code made at run time.
	out, err := exec.Command("eu-stack", "-q", "-n", strconv.Itoa(MaxDepth), "-p", strconv.Itoa(target.PID)).Output()
	theirs := parsePeer(out)
	space := openSpace(t, target.PID)
	if debugged {
		compareGDB(t, program, space, target.PID, ours)
	}
	for tid, s := range ours {
		p := theirs[tid]
		if samePCs(s, p) || missesOne(space, s, p) {
			t.Logf("%d frames, eu-stack %d, %v", len(s.frames), len(p), s.end)
			continue
		}
		at := 0
		for at < min(len(s.frames), len(p)) && s.frames[at].PC == p[at] {
			at++
		}
		left := left(space, s.frames[:at])
		if why, ok := knownDifference(program, left); ok {
			t.Logf("%d frames, eu-stack %d, other from #%d %s: %s", len(s.frames), len(p), at, left, why)
			continue
		}
		var said []byte
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			said = e.Stderr
		}
		t.Errorf("thread %d, %v:\n%s\neu-stack (%v, %q):\n%s", tid, s.end, list(space, s.frames), err, said, listPCs(space, p))
	}
	target.Signal(syscall.SIGCONT)
	target.WaitFor("run", func() bool { return !target.Stopped() })
}

// warmUp lets a process use half a second of processor time, or until it waits for
// something. By then interpreters have loaded their program and compiled some of it.
func warmUp(pid int) {
	ticks := uint64(ptest.Rounds(10, 50, 50)) // of 10 ms
	for ; ; time.Sleep(time.Millisecond) {
		st, err := procfs.ReadStat(pid)
		if err != nil || st.State == 'Z' || st.UTime+st.STime >= ticks || idle(pid) {
			return
		}
	}
}

// samePCs reports whether a stack is the same as eu-stack's, or continues where eu-stack gave
// up.
func samePCs(s endedStack, pcs []uint64) bool {
	n := len(pcs)
	return n <= len(s.frames) && (s.end == Whole || n < len(s.frames)) &&
		slices.EqualFunc(s.frames[:n], pcs, func(f Frame, pc uint64) bool { return f.PC == pc })
}

// missesOne reports whether eu-stack has the same frames except the second. At the first or last
// instructions of code made at run time the frame pointer is still the caller's, and eu-stack
// trusts it.
func missesOne(space *testSpace, s endedStack, pcs []uint64) bool {
	if len(s.frames) < 3 || len(pcs) == 0 || pcs[0] != s.frames[0].PC || !noCFI(space, s.frames[0]) {
		return false
	}
	return samePCs(endedStack{append([]Frame{s.frames[0]}, s.frames[2:]...), s.end}, pcs)
}

// noCFI reports whether no table covers a frame's instruction.
func noCFI(space *testSpace, f Frame) bool {
	pc := f.PC
	if f.Return {
		pc--
	}
	m, ok := space.Find(pc)
	return ok && (m.Table == nil || m.Table.function(pc-m.Bias) == nil)
}

// idle reports whether no thread of a process runs or is about to.
func idle(pid int) bool {
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		if st, err := procfs.ReadTaskStat(pid, tid); err == nil && st.State != 'S' {
			return false
		}
	}
	return true
}

// await lets a busy process run a little further.
func await(pid int) {
	r := tracee{pid: pid}
	for range 20 {
		r.await(pid)
	}
}

func list(space *testSpace, frames []Frame) string {
	var b strings.Builder
	for i, f := range frames {
		fmt.Fprintf(&b, "  #%d %#x %v %s\n", i, f.PC, f.SP, space.names(frames[i : i+1])[0])
	}
	return b.String()
}

func listPCs(space *testSpace, pcs []uint64) string {
	var frames []Frame
	for i, pc := range pcs {
		frames = append(frames, Frame{PC: pc, Return: i > 0})
	}
	return list(space, frames)
}

type endedStack struct {
	frames []Frame
	end    End
}

// stacksOf unwinds all threads of a process that is in a group stop.
func stacksOf(t *testing.T, pid int) map[int]endedStack {
	r := seize(t, pid)
	u := New(openSpace(t, pid))
	got := map[int]endedStack{}
	// A thread that is seized in a group stop reports that.
	for stopped := map[int]bool{}; len(stopped) < len(r.tids); {
		s, err := ptrace.Wait(true)
		if err != nil && err != syscall.EINTR {
			t.Fatal(err)
		}
		stopped[s.TID] = err == nil
	}
	for _, tid := range r.tids {
		var regs ptrace.Regs
		if err := ptrace.GetRegs(tid, &regs); err != nil {
			t.Fatal(err)
		}
		stack := r.copyStack(&regs)
		frames, end := u.Unwind(&regs, stack, nil)
		checkPartial(t, u, &regs, stack, frames)
		got[tid] = endedStack{frames, end}
		if err := ptrace.Detach(tid, 0); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// checkPartial unwinds with only the program counter and the stack pointer. That
// must give the same stack, or end where a register is missing.
func checkPartial(t *testing.T, u *Unwinder, regs *ptrace.Regs, stack Stack, want []Frame) {
	t.Helper()
	stack.Partial = true
	got, end := u.Unwind(&ptrace.Regs{Regs: x86.Regs{Rip: regs.Rip, Rsp: regs.Rsp}}, stack, nil)
	if end == NoRegister && len(got) <= len(want) {
		want = want[:len(got)]
	}
	if !slices.Equal(got, want) {
		t.Errorf("with pc and sp alone, %v: %v, want %v", end, got, want)
	}
}

// parsePeer reads the output of eu-stack -q.
func parsePeer(out []byte) map[int][]uint64 {
	stacks := map[int][]uint64{}
	tid := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "TID "); ok {
			tid, _ = strconv.Atoi(strings.TrimSuffix(rest, ":"))
			continue
		}
		if _, rest, ok := strings.Cut(line, "0x"); ok && strings.HasPrefix(line, "#") {
			word, _, _ := strings.Cut(rest, " ")
			if pc, err := strconv.ParseUint(word, 16, 64); err == nil {
				stacks[tid] = append(stacks[tid], pc)
			}
		}
	}
	return stacks
}
