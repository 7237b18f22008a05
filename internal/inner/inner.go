// Package inner gives the sampling packages of this module the controller of a pctl.Process. They need more than pctl
// offers: looks at single threads, generations of the thread set.
package inner

import "ptools/pctl/control"

// Access is embedded in a pctl.Process, under a name that is not exported. Its methods are not either.
type Access struct {
	controller func() (*control.Controller, error)
}

// Through returns the access that f gives. f returns an error if the process was grabbed read-only or is closed.
func Through(f func() (*control.Controller, error)) Access { return Access{f} }

func (a *Access) control() (*control.Controller, error) { return a.controller() }

// Process is a *pctl.Process. This package cannot name it, because pctl imports it.
type Process interface {
	control() (*control.Controller, error)
}

// Controller returns the controller of a process. It is an error if the process was grabbed read-only or is closed.
func Controller(p Process) (*control.Controller, error) { return p.control() }
