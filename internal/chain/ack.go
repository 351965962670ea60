package chain

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// ackMark begins the lines of acknowledgements, which follow those of keys. A program from before them takes such a line for that of a key
// that has ended, and passes over it.
const ackMark = keyMark + "ack:"

// acked is what is sealed of a notification: who has taken note, and that never changes.
type acked struct {
	Notification, Tenant string
	Ack                  posthouse.Acknowledgement
}

// AckText is what the digest of a notification's acknowledgement is of, empty where there is none.
func AckText(n *posthouse.Notification) string {
	if n.Ack == nil {
		return ""
	}
	sealed := *n.Ack
	sealed.At = n.Ack.At.UTC()
	return textOf(acked{n.ID, n.Tenant, sealed})
}

// ackLine is an acknowledgement as it is sealed: its notification's id, the moment at which a key would have ended, and a digest.
func ackLine(n *posthouse.Notification) string {
	return fmt.Sprintf("%s%s 0 %s", ackMark, n.ID, DigestOf(AckText(n)))
}

// heldAcks are the digests of the acknowledgements that are stored now, by the notification.
type heldAcks map[string]string

func acksOf(list []posthouse.Notification) heldAcks {
	held := heldAcks{}
	for i := range list {
		held[list[i].ID] = DigestOf(AckText(&list[i]))
	}
	return held
}

// differs compares the line of an acknowledgement with what is stored: what is not as it was, empty for nothing. is says that it is such a
// line. What is older than old may have been deleted for its age.
func (h heldAcks) differs(line, old string) (id, what string, is bool) {
	line, is = strings.CutPrefix(line, ackMark)
	if !is {
		return "", "", false
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return line, "its line cannot be read", true
	}
	id = fields[0]
	switch now, found := h[id]; {
	case now == fields[2], !found && id < old:
		return id, "", true
	case !found:
		return id, "its acknowledgement was sealed and is not there", true
	}
	return id, "its acknowledgement is not what was sealed", true
}

// AckEvidenceOf finds what the chain says of a notification's acknowledgement as it is stored now: Row is the text whose digest the line has.
// One that no link has sealed has no line.
func AckEvidenceOf(ctx context.Context, links Sealed, n *posthouse.Notification) (e Evidence, err error) {
	e, c, err := linkOf(ctx, links, n.ID)
	if err != nil || c.Seq == 0 {
		return e, err
	}
	held := acksOf([]posthouse.Notification{*n})
	for line := range strings.SplitSeq(c.Body, "\n") {
		id, what, is := held.differs(line, "")
		if !is || id != n.ID {
			continue
		}
		if e.Line = line; what == "" {
			e.Row = AckText(n)
		} else {
			e.Differences = append(e.Differences, what)
		}
	}
	return e, nil
}

// oldest is the time that ids begin with which are older than what is kept, empty where all is.
func oldest(now time.Time, keep time.Duration) string {
	if keep < 0 {
		return ""
	}
	return posthouse.FirstID(now.Add(-keep))[:timeDigits]
}
