// Package verify decides whether a run of posthouse kept its promises: nothing lost, nothing
// doubled without a reason, nothing early, late or over a limit.
//
// It reads what happened, the event log, and what others saw of it: what the producers were told,
// what arrived at the providers, what the limiter granted, which faults were made. From these it
// decides the invariants of [Laws], counts what became of every message in Jepsen's words, and says
// whether what rarely happens happened at all, since a run without it proves little.
//
// It streams: the event log comes sorted by delivery and is held one message at a time; of the
// journals a compact index is held, about 150 bytes for a message that was sent and arrived once.
//
// It knows the vocabulary of package posthouse and nothing else of the product: no engine, no store,
// no driver. So a fault in those cannot hide itself here. It opens no file and no database; the
// command posthouse verify does.
package verify
