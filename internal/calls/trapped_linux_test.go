package calls

import (
	"context"
	"errors"
	"sync"
	"testing"

	"ptools/pctl/control"
)

// trapping: watches stop threads at traps. The zero value has the kernel count.
var trapping bool

// trapAt has a watch of a process stop threads at traps, if trapping is set. done is for a watch that is not opened.
func trapAt(pid int, spec *Spec) (done func(), err error) {
	if !trapping {
		return func() {}, nil
	}
	holding.Lock()
	defer holding.Unlock()
	h := held[pid]
	if h == nil {
		h = &grabbed{pid: pid}
		if h.Controller, err = control.Attach(context.Background(), pid, nil); err != nil {
			return func() {}, err
		}
		held[pid] = h
	}
	h.watches++
	plants, err := control.NewPlants(context.Background(), h.Controller)
	spec.Planter = planter{plants, h}
	return func() { h.leave() }, err
}

// grabbed is a process that is under control for some watches.
type grabbed struct {
	*control.Controller
	pid, watches int
}

// held are the processes under control, under holding.
var (
	holding sync.Mutex
	held    = map[int]*grabbed{}
)

func (h *grabbed) leave() error {
	holding.Lock()
	defer holding.Unlock()
	if h.watches--; h.watches > 0 {
		return nil
	}
	delete(held, h.pid)
	defer h.Space().Close()
	if err := h.Release(context.Background(), control.ModeRun); err != nil && !errors.Is(err, control.ErrEnded) {
		return err
	}
	return nil
}

// planter ends the control with the last watch.
type planter struct {
	*control.Plants
	grabbed *grabbed
}

func (p planter) Close() error { return p.grabbed.leave() }

// TestTrapped: what is counted at uprobes is counted at traps, too.
func TestTrapped(t *testing.T) {
	trapping = true
	defer func() { trapping = false }()
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Endings", TestEndings}, {"GoEndings", TestGoEndings}, {"Everything", TestEverything}, {"Arguments", TestArguments}, {"Conditions", TestConditions},
		{"ConditionErrors", TestConditionErrors}, {"Stacks", TestStacks}, {"CopiedStacks", TestCopiedStacks}, {"GoroutineNumbers", TestGoroutineNumbers},
		{"Groups", TestGroups}, {"GroupsByStack", TestGroupsByStack}, {"ManyKeys", TestManyKeys}, {"GroupsAtTheTop", TestGroupsAtTheTop},
		{"Hazards", TestHazards}, {"Exec", TestExec}, {"OddArguments", TestOddArguments}, {"OddConditions", TestOddConditions}, {"NoTypes", TestNoTypes},
		{"OnlyReturn", TestOnlyReturn}, {"StackSize", TestStackSize}, {"Tree", TestTree}, {"TreeFull", TestTreeFull}, {"TreeCut", TestTreeCut},
		{"Unread", TestUnread}, {"EndedTypes", TestEndedTypes}, {"MappedAgain", TestMappedAgain},
		{"FirstThreadEnds", TestFirstThreadEnds}, {"BecomesHot", TestBecomesHot}, {"PlantedAnew", TestPlantedAnew}, {"Windows", TestWindows}, {"Raised", TestRaised},
	} {
		t.Run(test.name, test.run)
	}
}
