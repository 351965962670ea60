package campaign

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// viaBytes is what a segment says of a member's account.
const viaBytes = 2

// By notes by which account members of a segment are sent to. A channel's only account has no name, and nothing is noted.
func By(s *work.Segment, places []int, account string) {
	if account == "" {
		return
	}
	at := slices.Index(s.Accounts, account)
	if at < 0 {
		at = len(s.Accounts)
		s.Accounts = append(slices.Clip(s.Accounts), account)
	}
	if len(s.Via) == 0 {
		s.Via = make([]byte, viaBytes*Len(s))
	}
	for _, place := range places {
		binary.BigEndian.PutUint16(s.Via[viaBytes*place:], uint16(at+1))
	}
}

// AccountOf is the account by which a member was sent to last, empty for none that is known.
func AccountOf(s *work.Segment, place int) string {
	if viaBytes*(place+1) > len(s.Via) {
		return ""
	}
	if at := int(binary.BigEndian.Uint16(s.Via[viaBytes*place:])); at > 0 && at <= len(s.Accounts) {
		return s.Accounts[at-1]
	}
	return ""
}

// PinOf says which account alone may send to a member.
func PinOf(s *work.Segment, place int) work.Pin {
	if by := AccountOf(s, place); by != "" && !s.DoubtedAt.IsZero() {
		return work.ByAccount(by)
	}
	return ""
}

// MaySend reports whether an account may send to a member. Who may have been reached goes by the same account again: the provider of
// another one would not recognise the repeat.
func MaySend(s *work.Segment, place int, account string) bool {
	pin := PinOf(s, place)
	return pin == "" || pin.Account() == account
}

// codeElsewhere is why a member was sent to by another account than the first that tried.
const codeElsewhere = "FAILOVER"

// MovedFrom is why a member who was sent to went by another account than the one that was refused.
func MovedFrom(account string, r channel.Result) work.SegmentReason {
	return work.SegmentReason{Outcome: Sent.String(), Class: r.Class, Code: codeElsewhere, Error: fmt.Sprintf("the account %s was refused (%s), and another one has sent it", account, r.Code)}
}
