package workflow

import "slices"

// BizType is the number of what a job of the document is about, as outbox.Job and client.JobDraft name it.
type BizType int

// The business types. The id beside BizNodeDone and BizNodeTimeout is a node's, that beside the others a task's.
const (
	BizTaskCreated BizType = iota
	BizNodeDone
	BizOrbitRemind
	BizTaskFinished
	BizTaskAbnormal
	BizNodeTimeout
)

// The channels of jobs, by their numbers.
const (
	JobToOA       = 0
	JobToDingTalk = 1
)

// How a job or one of its recipients stands.
const (
	JobWaiting   = iota // something of it is still to be sent
	JobSucceeded        // all was sent
	JobFailed           // something of it was not, and will not be
	JobCancelled        // by a person, or by cancelling all its deliveries
	JobAborted          // because the task ended abnormally
)

// Kinds lists what the messages about tasks are called, in the order of their business types.
func Kinds() []string {
	return []string{"task_created", "node_done", "orbit_remind", "task_finished", "task_abnormal", "node_timeout"}
}

// Valid reports whether a number is one of those there are.
func (b BizType) Valid() bool { return b >= BizTaskCreated && b <= BizNodeTimeout }

// Kind is what messages of a business type are called, "" for a number that has none.
func (b BizType) Kind() string {
	if !b.Valid() {
		return ""
	}
	return Kinds()[b]
}

// BizTypeOf is the number of a kind; ok is false where it has none.
func BizTypeOf(kind string) (b BizType, ok bool) {
	n := slices.Index(Kinds(), kind)
	return BizType(n), n >= 0
}
