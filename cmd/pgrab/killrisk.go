package main

import (
	"fmt"

	"ptools/pctl"
)

// tellKillRisk tells the user what a SIGKILL of pgrab would do to the process, if
// it would do something that was not asked for. It does so again whenever that
// changes.
func (t *target) tellKillRisk() {
	e := t.p.KillRisk()
	if e == t.killRisk || len(t.breaks) != 0 && t.planted == nil {
		return
	}
	t.killRisk = e
	if s := riskText(e); s != "" && t.tree.isNews(s) {
		t.note(s)
	}
	if e.NoLoads != nil && t.showsEvents() {
		s := fmt.Sprintf("objects that are loaded from now on are not shown (%v); --trap int3 shows them, by an int3 instruction", e.NoLoads)
		if t.tree.isNews(s) {
			t.note(s)
		}
	}
}

// riskText returns the text of a KillRisk; it is empty for int3s that were asked
// for and are guarded.
func riskText(e pctl.KillRisk) string {
	what := "some breakpoints are int3s"
	if e.NoUprobe != nil {
		what += fmt.Sprintf(" (%v)", e.NoUprobe)
	}
	switch {
	case !e.Int3s:
		return ""
	case e.NoGuard != nil:
		return fmt.Sprintf("%s without a guard (%v): should SIGKILL end pgrab they stay, and end the process when it comes to one", what, e.NoGuard)
	case e.NoUprobe != nil:
		return what + ": harmless unless SIGKILL ends pgrab; its guard then removes them, rarely too late"
	}
	return ""
}
