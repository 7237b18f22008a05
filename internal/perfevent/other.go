//go:build !linux

package perfevent

import (
	"errors"
	"syscall"
	"time"
)

// These types have no methods that work on this platform.
type (
	Signals struct{}
	Link    struct{}
	Counter struct{}

	Counters struct{}
	Ticker   struct{}
	Tasks    struct{}
	Peeker   struct{}
	Calls    struct{}

	ThreadEnd struct{}
	Mappings  struct{}
)

// Nothing can be opened; the methods are those of Linux.
func NewSignals(pid int, sig syscall.Signal) (*Signals, error) { return nil, ErrNoUprobes }
func OpenCounter(pid, tid int, path string, off, addr uint64) (*Counter, error) {
	return nil, ErrNoUprobes
}

func OpenCounters(pid int, path string, offs []uint64) (*Counters, error) { return nil, ErrNoUprobes }
func (c *Counters) At(int) *Counter                                       { return nil }
func (c *Counters) Close() error                                          { return ErrNoUprobes }
func (s *Signals) ProbeAll(string, []uint64) (*Link, error)               { return nil, ErrNoUprobes }

func WatchThread(tid int) (*ThreadEnd, error) { return nil, errors.ErrUnsupported }
func (w *ThreadEnd) Wait() bool               { return false }
func (w *ThreadEnd) Close() error             { return errors.ErrUnsupported }

func WatchMappings(pid int) (*Mappings, error)    { return nil, errors.ErrUnsupported }
func (m *Mappings) Turn() uint64                  { return 0 }
func (m *Mappings) Since(uint64) ([]Mapped, bool) { return nil, false }
func (m *Mappings) Close() error                  { return errors.ErrUnsupported }

// WithoutLinks does nothing.
func WithoutLinks() {}

// Mechanism returns nothing.
func Mechanism() string { return "" }

// ReadTypes returns errors.ErrUnsupported.
func ReadTypes() error { return errors.ErrUnsupported }

// Links reports false.
func Links() bool { return false }

// OfInstruction reports false.
func OfInstruction(error) bool { return false }

// EndWithThread reports false.
func EndWithThread() bool { return false }

// Now returns 0.
func Now() time.Duration                                                { return 0 }
func OpenTicker(TickerOptions) (*Ticker, error)                         { return nil, errors.ErrUnsupported }
func OpenTasks(int) (*Tasks, error)                                     { return nil, errors.ErrUnsupported }
func (s *Signals) Probe(path string, off, cookie uint64) (*Link, error) { return nil, ErrNoUprobes }
func (s *Signals) Switch(on bool)                                       {}
func (s *Signals) Take(tid int, h *Hit) bool                            { return false }
func (s *Signals) Forget(tid int)                                       {}
func (s *Signals) Close() error                                         { return ErrNoUprobes }
func (l *Link) Switch(on bool)                                          {}
func (l *Link) Close() error                                            { return ErrNoUprobes }
func (c *Counter) Count() uint64                                        { return 0 }
func (c *Counter) Close() error                                         { return ErrNoUprobes }
func (c *Ticker) Want(int) error                                        { return errors.ErrUnsupported }
func (c *Ticker) Watch(int, []uint64)                                   {}
func (c *Ticker) Drop(int)                                              {}
func (c *Ticker) Read(func(*Record)) (lost int64)                       { return 0 }
func (c *Ticker) ReadAll(func(*Record)) (lost int64)                    { return 0 }
func (c *Ticker) Follows() Follow                                       { return FollowNone }
func (c *Ticker) Ends(func(*End))                                       {}
func (c *Ticker) NoRoom() int64                                         { return 0 }
func (c *Ticker) Redraw(func(int64) int64)                              {}
func (c *Ticker) Pause() error                                          { return errors.ErrUnsupported }
func (c *Ticker) Resume() error                                         { return errors.ErrUnsupported }
func (c *Ticker) SetPeriod(time.Duration)                               {}
func (c *Ticker) Period() time.Duration                                 { return 0 }
func (c *Ticker) Close() error                                          { return errors.ErrUnsupported }
func (t *Tasks) Read() ([]TaskRecord, error)                            { return nil, errors.ErrUnsupported }
func (t *Tasks) Close() error                                           { return nil }
func (t *Tasks) One(int) (*TaskRecord, error)                           { return nil, errors.ErrUnsupported }
func OpenPeeker() (*Peeker, error)                                      { return nil, errors.ErrUnsupported }
func (p *Peeker) Peek(int, int, uint64) *Peeked                         { return nil }
func (p *Peeker) Close() error                                          { return nil }
func OpenCalls(int, int, int, CallReports, CallGroups, Scope) (*Calls, error) {
	return nil, ErrNoUprobes
}
func OpenTrapped(Planter, int, int, CallReports, CallGroups) (*Calls, error) {
	return nil, ErrNoUprobes
}
func (c *Calls) Attach(string, bool, []CallPlace) map[int]error { return nil }
func (c *Calls) Survey(string, []CallPlace) func()              { return func() {} }
func (c *Calls) Hits(int) CallHits                              { return CallHits{} }
func (c *Calls) Window(string, int, []CallPlace, []CallPlace) (func(), bool) {
	return nil, false
}
func (c *Calls) Follow(int)      {}
func (c *Calls) Renew() error    { return ErrNoUprobes }
func (c *Calls) Turn()           {}
func (c *Calls) Exchanges() bool { return false }
func MeasureCalls(CallReports, func(uint64) (uint64, error)) (CallCost, error) {
	return CallCost{}, ErrNoUprobes
}
func (c *Calls) Switch(bool)                            {}
func (c *Calls) Read(int, *CallStats)                   {}
func (c *Calls) Groups() int                            { return 0 }
func (c *Calls) Group(int, *CallGroup, *CallStats) bool { return false }
func (c *Calls) Close() error                           { return nil }
func (c *Calls) Reports(int, func(*CallReport))         {}
func (c *Calls) Elsewhere() uint64                      { return 0 }
func (c *Calls) Unread() uint64                         { return 0 }
func (c *Calls) Executed() bool                         { return false }
func (c *Calls) Over() bool                             { return false }
func (c *Calls) Left() (uint64, uint64)                 { return 0, 0 }
func (c *Calls) Kin(int) bool                           { return false }

func (c *Calls) Copy(int, *Copies) {}
