package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/workflow"
)

// The kinds of messages about tasks, in the order of workflow.BizType.
const (
	KindTaskCreated  = "task_created"
	KindNodeDone     = "node_done"
	KindOrbitRemind  = "orbit_remind"
	KindTaskFinished = "task_finished"
	KindTaskAbnormal = "task_abnormal"
	KindNodeTimeout  = "node_timeout"
)

// Channel names that the document has a number for (section 1.2).
const (
	ChannelOA       = "oa"
	ChannelDingTalk = "dingtalk"
)

// Channels lists the numbered channels in the order of their numbers.
func Channels() []string { return []string{ChannelOA, ChannelDingTalk} }

// ChannelName is the channel of a number, "" for a number that has none.
func ChannelName(code int) string { return named(Channels(), code) }

// ChannelCode is the number of a channel; ok is false where it has none.
func ChannelCode(name string) (code int, ok bool) {
	code = slices.Index(Channels(), name)
	return code, code >= 0
}

// named is the name that stands at a number, "" for one beyond the list.
func named(names []string, n int) string {
	if n < 0 || n >= len(names) {
		return ""
	}
	return names[n]
}

// Status says how a job or one of its recipients stands, in the document's numbers (section 2).
type Status int

// The statuses.
const (
	Waiting   Status = workflow.JobWaiting   // something of it is still to be sent
	Succeeded Status = workflow.JobSucceeded // all was sent
	Failed    Status = workflow.JobFailed    // something of it was not, and will not be
	Cancelled Status = workflow.JobCancelled // by UpdateStatus, or by cancelling all its deliveries
	Aborted   Status = workflow.JobAborted   // by UpdateStatus, because the task ended abnormally
)

// Valid reports whether a status is one of those there are.
func (s Status) Valid() bool { return s >= Waiting && s <= Aborted }

// String is the status in a word.
func (s Status) String() string {
	if !s.Valid() {
		return strconv.Itoa(int(s))
	}
	return []string{"waiting", "success", "failed", "cancelled", "aborted"}[s]
}

// The dedup keys of the document (section 3). A channel stands in them by its number, one that has none by
// its name.

// TaskCreatedKey is 0_{task}_{channel}.
func TaskCreatedKey(task, channel string) string {
	return dedupKey(workflow.BizTaskCreated, channel, task)
}

// NodeDoneKey is 1_{task}_{node}_{channel}.
func NodeDoneKey(task, node, channel string) string {
	return dedupKey(workflow.BizNodeDone, channel, task, node)
}

// OrbitRemindKey is 2_{task}_{orbitNo}_{remainMin}_{channel}; remainMin is the slot's, 60 to 0.
func OrbitRemindKey(task string, orbitNo, remainMin int, channel string) string {
	return dedupKey(workflow.BizOrbitRemind, channel, task, strconv.Itoa(orbitNo), strconv.Itoa(remainMin))
}

// TaskFinishedKey is 3_{task}_{channel}.
func TaskFinishedKey(task, channel string) string {
	return dedupKey(workflow.BizTaskFinished, channel, task)
}

// TaskAbnormalKey is 4_{task}_{channel}.
func TaskAbnormalKey(task, channel string) string {
	return dedupKey(workflow.BizTaskAbnormal, channel, task)
}

// NodeTimeoutKey is 5_{node}_{channel}.
func NodeTimeoutKey(node, channel string) string {
	return dedupKey(workflow.BizNodeTimeout, channel, node)
}

// An id with a _ has %5F for it, and the name of a channel that is another's number has %3 before it, so that no two keys
// are the same.
func dedupKey(b workflow.BizType, channel string, about ...string) string {
	for i, id := range about {
		about[i] = strings.NewReplacer("%", "%25", "_", "%5F").Replace(id)
	}
	if code, ok := ChannelCode(channel); ok {
		channel = strconv.Itoa(code)
	} else if n, _ := strconv.Atoi(channel); strconv.Itoa(n) == channel && ChannelName(n) != "" {
		channel = "%3" + channel
	}
	return strconv.Itoa(int(b)) + "_" + strings.Join(about, "_") + "_" + channel
}

// TemplateName is the name of the template for a kind and a channel. One for a kind on all channels is
// named like the kind.
func TemplateName(kind, channel string) string { return kind + "." + channel }
