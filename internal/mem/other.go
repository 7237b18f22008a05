//go:build !linux

package mem

import (
	"errors"
	"os"
)

// A Memory cannot be opened on this platform.
type Memory struct{}

// Open is not supported on this platform.
func Open(pid int) (*Memory, error) { return nil, errors.ErrUnsupported }

// The methods of a Memory are those of Linux.
func (m *Memory) Stale() bool                               { return true }
func (m *Memory) Writable() bool                            { return false }
func (m *Memory) ReadAt(p []byte, addr int64) (int, error)  { return 0, errors.ErrUnsupported }
func (m *Memory) WriteAt(p []byte, addr int64) (int, error) { return 0, errors.ErrUnsupported }
func (m *Memory) ReadVec([][]byte, []uint64) (int, error)   { return 0, errors.ErrUnsupported }
func (m *Memory) PID() int                                  { return 0 }
func (m *Memory) File() (*os.File, error)                   { return nil, errors.ErrUnsupported }
func (m *Memory) Close() error                              { return nil }

// Forces reports false.
func Forces() bool { return false }

// Replace returns errors.ErrUnsupported.
func Replace(tid int, old, now []byte, addr int64) error { return errors.ErrUnsupported }

// A Bound cannot be had on this platform.
type Bound struct{ m *Memory }

// The methods of a Bound are those of Linux.
func (m *Memory) Bound() *Bound                            { return &Bound{m} }
func (b *Bound) ReadAt(p []byte, addr int64) (int, error)  { return b.m.ReadAt(p, addr) }
func (b *Bound) WriteAt(p []byte, addr int64) (int, error) { return b.m.WriteAt(p, addr) }

// A User cannot be had on this platform.
type User struct{ m *Memory }

// The methods of a User are those of Linux.
func (m *Memory) User() *User                             { return &User{m} }
func (u *User) ReadAt(p []byte, addr int64) (int, error)  { return u.m.ReadAt(p, addr) }
func (u *User) WriteAt(p []byte, addr int64) (int, error) { return u.m.WriteAt(p, addr) }

// A Patient cannot be had on this platform.
type Patient struct{ *Memory }

// PatientView is likewise.
type PatientView struct{ *Memory }

// OpenPatient and the methods of a Patient are those of Linux.
func OpenPatient(pid int) (*Patient, error) { return nil, errors.ErrUnsupported }
func (m *Memory) Patiently() *Patient       { return &Patient{m} }
func (p *Patient) User() *PatientView       { return &PatientView{p.Memory} }
func (p *Patient) Quick() *PatientView      { return &PatientView{p.Memory} }
func (p *Patient) QuickUser() *PatientView  { return &PatientView{p.Memory} }
func (p *Patient) QuickBound() *PatientView { return &PatientView{p.Memory} }
