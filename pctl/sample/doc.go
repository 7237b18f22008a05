// Package sample profiles processes of any language: where their threads spend processor time and wall time.
//
//	p, err := sample.Run(ctx, 4242, &sample.Options{For: 10 * time.Second})
//	if err != nil { … }
//	err = p.WriteText(os.Stdout)
//
// It does for programs what psample does for users. Where the timers of the processors may be used
// (perf_event_open(2) and BPF programs, which root may use), no thread is stopped and nothing is attached. Elsewhere
// the thread that has a processor at a random moment is stopped for some microseconds, for each sample. The process is under control meanwhile, so no other tracer
// may hold it.
//
// Neither harms the target; what cannot be seen without harm is counted as [not stopped]. The
// processor time of a profile adds up to what the process has used, as the kernel counts it.
package sample
