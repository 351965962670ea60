package work

import "github.com/posthouse/posthouse"

// Payer is a key whose quota of open deliveries a caller's messages count against. The zero value is nobody's.
type Payer struct {
	Key  string // its id
	Open int    // how many may be open
	// MentionAll is how many of its messages a day may call everybody.
	MentionAll int
}

// Caller is on whose behalf something is handed in. The zero value may hand in nothing: it sees no channel.
type Caller struct {
	Sight Sight
	Payer Payer
	// MentionAll says that it may call everybody in a group.
	MentionAll bool
	// Critical says that it may send what quiet hours and caps do not hold.
	Critical bool
}

// MayCritical refuses what is critical by a field, on behalf of a caller who may not send that.
func (c Caller) MayCritical(field string) error {
	if c.Critical {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "%s is sent in quiet hours and beyond caps: the key needs the grant %s, or the scope admin", field, posthouse.GrantCritical)
}

// MayMentionAll refuses what calls everybody by a field, on behalf of a caller who may not.
func (c Caller) MayMentionAll(field string) error {
	if c.MentionAll {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "%s calls everybody whom the channel reaches: the key needs the grant %s, or the scope admin", field, posthouse.GrantMentionAll)
}

// Program is the program itself: its roles, and what embeds it.
func Program() Caller { return Caller{Sight: SeeAll(), MentionAll: true, Critical: true} }
