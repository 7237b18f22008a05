package calls

import (
	"ptools/internal/perfevent"
)

// A Planter plants traps where calls begin and end.
type Planter = perfevent.Planter

// engine opens what counts the calls of a number of functions.
func (s *Selection) engine(spec *Spec, functions int, apart perfevent.CallGroups, of perfevent.Scope) (*perfevent.Calls, error) {
	switch {
	case spec.Planter == nil:
		return perfevent.OpenCalls(s.PID, functions, s.places(), spec.CallReports, apart, of)
	case of != perfevent.Alone:
		return nil, perfevent.ErrChildrenTrapped
	}
	return perfevent.OpenTrapped(spec.Planter, s.PID, functions, spec.CallReports, apart)
}
