package sample_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	gprofile "github.com/google/pprof/profile"

	"ptools/internal/ptest"
	"ptools/pctl"
	"ptools/pctl/sample"
)

const spinning = "SAMPLE_TEST_SPIN"

func TestMain(m *testing.M) {
	if os.Getenv(spinning) != "" {
		os.Stdout.WriteString("x")
		go func() { // ends with who has started it
			os.Stdin.Read(make([]byte, 1))
			os.Exit(0)
		}()
		for {
			sink = spin()
		}
	}
	ptest.Main(m)
}

var sink uint64

//go:noinline
func spin() (sum uint64) {
	for i := range uint64(1 << 20) {
		sum += i * i
	}
	return sum
}

// startSpinning starts this program as one that spins for ever.
func startSpinning() (pid int, stop func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), spinning+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe() // closed with us, or by Wait
	}
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1)) // it runs
	}
	if err != nil {
		log.Fatal(err)
	}
	return cmd.Process.Pid, sync.OnceFunc(func() {
		cmd.Process.Kill()
		if err := cmd.Wait(); cmd.ProcessState == nil {
			log.Print(cmd.Process.Pid, ": ", err) // it is still there
		}
	})
}

var bg = context.Background()

// TestFormats: each format is what its readers expect, and has the function that spins.
func TestFormats(t *testing.T) {
	pid, stop := startSpinning()
	defer stop()
	p, err := sample.Run(bg, pid, &sample.Options{For: 300 * time.Millisecond, Frames: sample.Frames{Lines: true}})
	if err != nil {
		t.Fatal(err)
	}
	const name = "ptools/pctl/sample_test.spin"
	if v := p.Total(); v.Samples == 0 || v.CPU <= 0 || v.Wall <= 0 || p.Duration() < 200*time.Millisecond || p.Start().IsZero() || p.Cost() == "" {
		t.Errorf("%+v in %v from %v: %s", v, p.Duration(), p.Start(), p.Cost())
	}
	var text, folded, pprof, speedscope, doc bytes.Buffer
	if err := errors.Join(p.WriteText(&text), p.WriteFolded(&folded), p.WritePprof(&pprof), p.WriteSpeedscope(&speedscope), p.WriteJSON(&doc)); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*bytes.Buffer{&text, &folded, &speedscope, &doc} {
		if !strings.Contains(b.String(), name) {
			t.Errorf("no %s in %.200s", name, b)
		}
	}
	if !json.Valid(speedscope.Bytes()) || !json.Valid(doc.Bytes()) {
		t.Error("not JSON")
	}
	g, err := gprofile.Parse(&pprof)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range g.Function {
		if f.Name == name && strings.HasSuffix(f.Filename, "sample_test.go") {
			return
		}
	}
	t.Errorf("pprof: no %s with a source line", name)
}

// TestRunProcess: a process that is held runs when sampling begins, and its end ends the run. A process
// that was grabbed read-only is refused if it would have to be stopped.
func TestRunProcess(t *testing.T) {
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Create(bg, &pctl.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 0.2; exit 3"}},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if taken, err := sample.RunProcess(bg, p, nil); err != nil || taken.Total().Samples == 0 {
		t.Errorf("%v, %v", taken, err)
	}
	if e, err := p.Wait(bg); err != nil || e.Code != 3 {
		t.Errorf("it ends with %v, %v", e, err)
	}
	reader, err := s.Grab(bg, os.Getpid(), &pctl.GrabOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := sample.RunProcess(bg, reader, &sample.Options{Timers: sample.TimersOff}); !errors.Is(err, pctl.ErrReadOnly) {
		t.Errorf("read-only without timers: %v", err)
	}
	if _, err := sample.Run(bg, 0, nil); !errors.Is(err, pctl.ErrNoProcess) {
		t.Errorf("of no process: %v", err)
	}
}

// TestContext: a context ends the run, which is no error. What was sampled until then is in the profile. How long it takes
// until something is sampled depends on the machine.
func TestContext(t *testing.T) {
	pid, stop := startSpinning()
	defer stop()
	for _, timers := range []sample.Timers{sample.TimersAuto, sample.TimersOff} {
		for after := 100 * time.Millisecond; ; after *= 2 {
			ctx, cancel := context.WithTimeout(bg, after)
			p, err := sample.Run(ctx, pid, &sample.Options{Period: time.Millisecond, Timers: timers})
			cancel()
			ungrabbed := errors.Is(err, context.DeadlineExceeded) // the time was over before
			if err != nil && !ungrabbed || after > 10*time.Second {
				t.Fatalf("timers %d, after %v: %v", timers, after, err)
			}
			if !ungrabbed && p.Total().Samples > 0 {
				break
			}
		}
	}
}
