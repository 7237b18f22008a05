// Package inner gives packages and tools of this module what they need of a pctl.Process beyond what pctl offers: looks at
// single threads, generations of the thread set, calls that are counted at int3s.
package inner

import (
	"context"

	"ptools/internal/calls"
	"ptools/pctl/control"
)

// Access is embedded in a pctl.Process, under a name that is not exported. Its methods are not either.
type Access struct {
	controller func() (*control.Controller, error)
	plants     func(context.Context) (calls.Planter, error)
}

// Through returns the access that two functions give. They return an error if the process was grabbed read-only or is closed.
func Through(controller func() (*control.Controller, error), plants func(context.Context) (calls.Planter, error)) Access {
	return Access{controller, plants}
}

func (a *Access) control() (*control.Controller, error) { return a.controller() }

func (a *Access) planter(ctx context.Context) (calls.Planter, error) { return a.plants(ctx) }

// Process is a *pctl.Process. This package cannot name it, because pctl imports it.
type Process interface {
	control() (*control.Controller, error)
	planter(context.Context) (calls.Planter, error)
}

// Controller returns the controller of a process. It is an error if the process was grabbed read-only or is closed.
func Controller(p Process) (*control.Controller, error) { return p.control() }

// Planter returns what counts calls of a process where the kernel has no uprobes for it. The process must be controlled.
func Planter(ctx context.Context, p Process) (calls.Planter, error) { return p.planter(ctx) }
