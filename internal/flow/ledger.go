package flow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// ledger is the document that is kept of a task: what is known, and who was told what. Two things follow
// from both together: what is still to be told, and what is to be taken back.
type ledger struct {
	Known known `json:"known"`
	// Channels are those the task is told on where it names none: as they were when it was described.
	Channels []string  `json:"channels,omitempty"`
	Told     []telling `json:"told,omitempty"`
	// Dropped counts the tellings that were dropped, by their key without a mark: it stays taken.
	Dropped  map[string]int     `json:"dropped,omitempty"`
	Warnings []wire.TaskWarning `json:"warnings,omitempty"`
	// Recall says that withdrawn messages are to be cancelled: by who has taken the event in, at once, and once
	// more by the planner, as the first may have died.
	Recall bool `json:"recall,omitempty"`
}

// telling is one notice that was handed to the post: messages, or a reminder.
type telling struct {
	ID        string    `json:"id"`    // the notice's
	Words     string    `json:"words"` // the notice's
	Key       string    `json:"key"`   // that the messages have
	Kind      string    `json:"kind"`
	Ref       string    `json:"ref"`
	Channel   string    `json:"channel"`
	Messages  []string  `json:"messages,omitempty"`
	Reminder  string    `json:"reminder,omitempty"`
	At        time.Time `json:"at"`
	NotBefore time.Time `json:"not_before,omitzero"`
	// Withdrawn are those that no longer follow from what is known. What of them had not started is cancelled.
	Withdrawn bool `json:"withdrawn,omitempty"`

	fresh bool // it is withdrawn in this taking
}

// The warnings.
const (
	// RoleVacant is a role that handles a node and that nobody has.
	RoleVacant wire.WarningCode = "ROLE_VACANT"
	// NobodyToTell is a notice without anybody it could go to.
	NobodyToTell wire.WarningCode = "NOBODY_TO_TELL"
	// NoAddress is somebody whom a channel cannot reach, such as one without a phone number.
	NoAddress wire.WarningCode = "NO_ADDRESS"
	// NoticeRefused is a notice that cannot be made into a message, such as one without a template.
	NoticeRefused wire.WarningCode = "NOTICE_REFUSED"
	// NoChannel is a task that names no channel where neither oa nor dingtalk is configured.
	NoChannel wire.WarningCode = "NO_CHANNEL"
	// NotActivated is a node that may take so long and that no event has said to begin: its time-out counts from when
	// those before it were done.
	NotActivated wire.WarningCode = "NOT_ACTIVATED"
)

// WarningCodes lists the codes.
func WarningCodes() []wire.WarningCode {
	return []wire.WarningCode{RoleVacant, NobodyToTell, NoAddress, NoticeRefused, NoChannel, NotActivated}
}

// maxWarnings bounds what is kept of warnings. Each is in the log as well.
const maxWarnings = 50

// same reports whether two warnings say the same, at whatever time.
func same(w, other wire.TaskWarning) bool { return other.Code == w.Code && other.Detail == w.Detail }

// warn keeps a warning while there is room, and reports whether it is a new one.
func (l *ledger) warn(w wire.TaskWarning) bool {
	if slices.ContainsFunc(l.Warnings, func(other wire.TaskWarning) bool { return same(w, other) }) {
		return false
	}
	if len(l.Warnings) < maxWarnings {
		l.Warnings = append(l.Warnings, w)
	}
	return true
}

// stands reports whether a notice was told as it is.
func (l *ledger) stands(n *notice) bool {
	return slices.ContainsFunc(l.Told, func(t telling) bool { return t.ID == n.id && t.Words == n.words && !t.Withdrawn })
}

// former are the tellings of a notice that were withdrawn, in whatever words.
func (l *ledger) former(id string) []*telling {
	var out []*telling
	for i := range l.Told {
		if t := &l.Told[i]; t.ID == id && t.Withdrawn {
			out = append(out, t)
		}
	}
	return out
}

// withdraw marks what was told and does not follow from what is known any more, and returns its keys.
func (l *ledger) withdraw(notices []notice) (keys []string) {
	follows := map[string]bool{}
	for i := range notices {
		follows[notices[i].mark()] = true
	}
	for i := range l.Told {
		if t := &l.Told[i]; !t.Withdrawn && !follows[t.ID+t.Words] {
			t.Withdrawn, t.fresh, keys = true, true, append(keys, t.Key)
			l.Recall = l.Recall || len(t.Messages) > 0
		}
	}
	return keys
}

// inherit leaves the last message of a reminder to its withdrawn telling, to be cancelled with it if it still waits: the
// reminder that takes its place does not name it any more.
func (l *ledger) inherit(reminder, message string) {
	for i := len(l.Told) - 1; i >= 0; i-- {
		if t := &l.Told[i]; t.Reminder == reminder && t.Withdrawn {
			t.Messages, l.Recall = append(t.Messages, message), true
			return
		}
	}
}

// drop forgets tellings that were withdrawn and cancelled, and that make no difference any more: of reminders, of slots
// that have not come, which have reached nobody, and of slots that have passed, which do not follow again.
func (l *ledger) drop(now time.Time) {
	l.Told = slices.DeleteFunc(l.Told, func(t telling) bool {
		passed := !t.NotBefore.IsZero() && t.NotBefore.Before(now.Add(-orbitEvery))
		if !t.Withdrawn || t.Reminder == "" && !passed && !t.NotBefore.After(now) {
			return false
		}
		if l.Dropped == nil {
			l.Dropped = map[string]int{}
		}
		l.Dropped[bare(t.Key)]++
		return true
	})
}

// grace is how old a slot may be when it is planned: it was on its way.
const grace = 5 * time.Second

// untold are the notices that are still to be handed to the post at now. A slot that has passed is not:
// the next one says the same with less time left.
func (l *ledger) untold(notices []notice, now time.Time) []notice {
	var out []notice
	for _, n := range notices {
		if !l.stands(&n) && (n.notBefore.IsZero() || !n.notBefore.Before(now.Add(-grace))) {
			out = append(out, n)
		}
	}
	return out
}

// freshKey is the key for a notice's messages: the notice's own, or with ~2, ~3, … behind it where
// messages have it that were withdrawn. A dedup key stands for its first message for good.
func (l *ledger) freshKey(key string) string {
	used := l.Dropped[key]
	for i := range l.Told {
		if k := l.Told[i].Key; strings.HasPrefix(k, key) && bare(k) == key {
			used++
		}
	}
	if used == 0 {
		return key
	}
	return key + "~" + strconv.Itoa(used+1)
}

// bare is a key without the mark that freshKey gave it.
func bare(key string) string {
	if i := strings.LastIndexByte(key, '~'); i >= 0 {
		if _, err := strconv.Atoi(key[i+1:]); err == nil {
			return key[:i]
		}
	}
	return key
}
