package tracee

// ReplayTrace is for tests that trace real processes.
var ReplayTrace = replayTrace
