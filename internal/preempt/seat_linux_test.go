package preempt

import (
	"runtime"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// seat opens the Seat of a thread that ends with the test.
func seat(t *testing.T) *Seat {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test's goroutine
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func task(t *testing.T, g *ptest.Target) *procfs.Task {
	t.Helper()
	f, err := procfs.OpenTask(g.PID, g.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestTake: the time at which the scheduler has given us a processor is that at which it has taken it from the thread
// that ran there, to the nanosecond. A thread that sleeps has an earlier one. On a busy machine others have the processor
// in between, or the thread has moved to another one: then there are more takes.
func TestTake(t *testing.T) {
	s := seat(t)
	spins, sleeps := ptest.Start(t, "sh", "-c", "while :; do :; done"), ptest.Start(t, "sleep", "1000")
	spinning, sleeping := task(t, spins), task(t, sleeps)
	sleeps.WaitFor("its sleep", func() bool {
		stat, err := sleeping.Stat()
		return err == nil && stat.State == 'S'
	})
	takes := 0
	ptest.Weather(50, func() (met int) {
		takes++
		stat, err := spinning.Stat()
		if err != nil {
			t.Fatal(err)
		}
		began, _, err := s.Take(stat.Processor, 200*time.Microsecond)
		if err != nil {
			t.Fatal(err)
		}
		at, err := spinning.Turn()
		if err != nil {
			t.Fatal(err)
		}
		asleep, err := sleeping.Turn()
		if err != nil || asleep.At == began {
			t.Fatalf("a thread that sleeps had the processor until %d, %v", asleep.At, err)
		}
		s.Leave()
		if at.At == began {
			return 1
		}
		return 0
	})
	t.Logf("%d takes", takes)
}

// TestLeave: a thread may run where it might before.
func TestLeave(t *testing.T) {
	s := seat(t)
	if _, _, err := s.Take(0, 0); err != nil {
		t.Fatal(err)
	}
	s.Leave()
	after := seat(t)
	if after.affinity != s.affinity {
		t.Errorf("processors %v, before %v", after.affinity, s.affinity)
	}
	if (after.attr == nil) != (s.attr == nil) || s.attr != nil && after.attr.Nice != s.attr.Nice {
		t.Errorf("scheduling %+v, before %+v", after.attr, s.attr)
	}
}

// TestNoProcessor: a processor that the thread may not have is refused, and nothing is changed.
func TestNoProcessor(t *testing.T) {
	s := seat(t)
	if _, _, err := s.Take(1023, 0); err == nil {
		t.Error("processor 1023 was taken")
	}
	s.Leave()
	if after := seat(t); after.affinity != s.affinity {
		t.Errorf("processors %v, before %v", after.affinity, s.affinity)
	}
}
