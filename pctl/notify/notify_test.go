package notify

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// allKinds is every kind there is.
var allKinds = func() (all []Kind) {
	for k := Grabbed; k <= Released; k++ {
		all = append(all, k)
	}
	return all
}()

func TestNames(t *testing.T) {
	for k, want := range map[Kind]string{
		Grabbed: "grabbed", Created: "created", Stopped: "stopped", Continued: "continued", Exec: "exec", Fork: "fork",
		Vfork: "vfork", ThreadStart: "thread-start", ThreadExit: "thread-exit", Loaded: "loaded", Unloaded: "unloaded",
		Hit: "hit", BreakEnd: "break-end", Signal: "signal", GroupStop: "group-stop", GroupContinue: "group-continue", BreakRefused: "break-refused", Followed: "followed", Unfollowed: "unfollowed", Undead: "undead",
		Lost: "lost", Released: "released", 0: "none", Released + 1: "kind23",
	} {
		if got := k.String(); got != want {
			t.Errorf("Kind(%d) is %q, want %q", uint8(k), got, want)
		}
	}
	for p, want := range map[Point]string{
		Grab: "grab", Create: "create", PointExec: "exec", Preinit: "preinit", Postinit: "postinit", Main: "main",
		PointHit: "hit", PointSignal: "signal", 0: "none", PointSignal + 1: "point9",
	} {
		if got := p.String(); got != want {
			t.Errorf("Point(%d) is %q, want %q", uint8(p), got, want)
		}
	}
}

// TestPoints: a point can be taken from a set once.
func TestPoints(t *testing.T) {
	s := PointsOf(Grab, Main)
	if !s.Has(Grab) || s.Has(Create) || !s.Has(Main) || s.Has(0) {
		t.Errorf("PointsOf(Grab, Main) = %b", s)
	}
	if s.Take(Create) || !s.Take(Main) || s.Take(Main) || s != PointsOf(Grab) {
		t.Errorf("Take leaves %b", s)
	}
}

// want reads the next event and compares its kind and number.
func want(t *testing.T, s *Subscription, k Kind, hits uint64) {
	t.Helper()
	e, err := s.Next(context.Background())
	if err != nil || e.Kind != k || e.Hits != hits || e.Time.IsZero() {
		t.Fatalf("Next() = %v %d at %v, %v; want %v %d", e.Kind, e.Hits, e.Time, err, k, hits)
	}
}

func wantError(t *testing.T, s *Subscription, want error) {
	t.Helper()
	for range 2 {
		if e, err := s.Next(context.Background()); err != want {
			t.Fatalf("Next() = %v, %v; want %v", e, err, want)
		}
	}
}

func TestMaskAndOrder(t *testing.T) {
	b := NewBus()
	all, hits, none := b.Subscribe(allKinds...), b.Subscribe(Hit), b.Subscribe()
	const n = 1000
	for i := range uint64(n) {
		b.Publish(Event{Kind: Hit, Hits: i})
		b.Publish(Event{Kind: Fork, Hits: i})
	}
	b.Publish(Event{Kind: Undead, Hits: n})
	for i := range uint64(n) {
		want(t, all, Hit, i)
		want(t, all, Fork, i)
		want(t, hits, Hit, i)
	}
	for _, s := range []*Subscription{all, hits, none} {
		want(t, s, Undead, n)
		wantError(t, s, io.EOF)
	}
}

func TestFirstTerminalEndsIt(t *testing.T) {
	for _, k := range []Kind{Undead, Lost, Released} {
		b := NewBus()
		early := b.Subscribe(Hit)
		b.Publish(Event{Kind: k, Hits: 1})
		b.Publish(Event{Kind: Released, Hits: 2})
		b.Publish(Event{Kind: Hit, Hits: 3})
		for _, s := range []*Subscription{early, b.Subscribe(allKinds...), b.Subscribe()} {
			want(t, s, k, 1)
			wantError(t, s, io.EOF)
			s.Close()
			wantError(t, s, os.ErrClosed)
		}
	}
}

func TestWants(t *testing.T) {
	b := NewBus()
	for _, k := range allKinds {
		if b.Wants(k) != k.Terminal() {
			t.Errorf("without a subscription Wants(%v) is %v", k, b.Wants(k))
		}
	}
	s, other := b.Subscribe(Hit, Fork), b.Subscribe(Fork)
	if !b.Wants(Hit) || b.Wants(Exec) {
		t.Error("Wants does not follow Subscribe")
	}
	s.Close()
	if b.Wants(Hit) || !b.Wants(Fork) {
		t.Error("Wants does not follow Close")
	}
	other.Close()
	b.Publish(Event{Kind: Lost})
	if slices.ContainsFunc(allKinds, b.Wants) {
		t.Error("something is wanted after the end")
	}
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBus()
		s := b.Subscribe(Hit)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := s.Next(ctx)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err != context.Canceled {
			t.Errorf("Next: %v", err)
		}
		b.Publish(Event{Kind: Hit, Hits: 1})
		if e, err := s.Next(ctx); err != nil || e.Hits != 1 {
			t.Errorf("Next with a done context and an event there: %v, %v", e, err)
		}
	})
}

// TestCloseWakes closes a subscription, or ends the stream, while several
// goroutines wait. One of them gets the event, and all return.
func TestCloseWakes(t *testing.T) {
	for _, end := range []struct {
		act  func(*Bus, *Subscription)
		want error
	}{
		{func(b *Bus, s *Subscription) { s.Close(); s.Close() }, os.ErrClosed},
		{func(b *Bus, s *Subscription) { b.Publish(Event{Kind: Undead}) }, io.EOF},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBus()
			s := b.Subscribe(allKinds...)
			const waiters = 5
			errs := make(chan error, waiters)
			for range waiters {
				go func() {
					var err error
					for err == nil {
						_, err = s.Next(context.Background())
					}
					errs <- err
				}()
			}
			synctest.Wait()
			end.act(b, s)
			for range waiters {
				if err := <-errs; err != end.want {
					t.Errorf("Next: %v, want %v", err, end.want)
				}
			}
		})
	}
}

// TestPublishSubscribeStorm has publishers, subscriptions that come and go, and an
// end in the middle of it. Each subscription must get a contiguous run of every
// publisher's events, up to the end. It must get exactly one terminal event, which
// is the same for all.
func TestPublishSubscribeStorm(t *testing.T) {
	const publishers, subscribers = 8, 16
	events := uint64(2000)
	if testing.Short() {
		events = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b := NewBus()
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for i := range events {
				b.Publish(Event{Kind: Hit, TID: p, Hits: i + 1})
			}
			b.Publish(Event{Kind: []Kind{Undead, Lost, Released}[p%3], TID: p})
		})
	}
	ends := make(chan Event, subscribers)
	for n := range subscribers {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		wg.Go(func() {
			for range random.IntN(20) { // short ones first
				s := b.Subscribe(allKinds...)
				follow(t, s, random.IntN(50))
				s.Close()
			}
			end := follow(t, b.Subscribe(allKinds...), -1)
			ends <- end
		})
	}
	wg.Wait()
	close(ends)
	first := <-ends
	for e := range ends {
		if e.Kind != first.Kind || e.TID != first.TID || !e.Time.Equal(first.Time) {
			t.Errorf("one subscription ended with %+v, another with %+v", first, e)
		}
	}
	late := b.Subscribe()
	if end := follow(t, late, -1); end.TID != first.TID {
		t.Errorf("a late subscription ended with %+v, want %+v", end, first)
	}
}

// follow reads at most limit events (all if negative). It checks that no event of a
// publisher is missing in between, and returns the terminal event.
func follow(t *testing.T, s *Subscription, limit int) (end Event) {
	last := map[int]uint64{}
	for n := 0; n != limit; n++ {
		e, err := s.Next(context.Background())
		switch {
		case errors.Is(err, io.EOF):
			if !end.Kind.Terminal() {
				t.Error("EOF without a terminal event")
			}
			return end
		case err != nil:
			t.Error(err)
			return end
		case end.Kind != 0:
			t.Errorf("%v after the terminal %v", e, end)
		case e.Kind.Terminal():
			end = e
		default:
			if l, seen := last[e.TID]; seen && e.Hits != l+1 {
				t.Errorf("publisher %d: event %d after %d", e.TID, e.Hits, l)
			}
			last[e.TID] = e.Hits
		}
	}
	return end
}

func BenchmarkPublish(b *testing.B) {
	b.Run("unwanted", func(b *testing.B) {
		bus := NewBus()
		b.ReportAllocs()
		for b.Loop() {
			bus.Publish(Event{Kind: Hit})
		}
	})
	b.Run("delivered", func(b *testing.B) {
		bus := NewBus()
		s := bus.Subscribe(Hit)
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			bus.Publish(Event{Kind: Hit})
			if _, err := s.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}
