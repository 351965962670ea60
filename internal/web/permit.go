package web

import (
	"path"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Use is what a door wants of a key.
type Use struct {
	Scope posthouse.Scope
	// Action is its name, such as messages.create.
	Action string
	// Sight says whether the handler keeps to the channels and kinds of the key. One that does not is closed to narrowed
	// keys.
	Sight bool
	// Whole wants a key that is not narrowed at all: what makes keys, or else a narrowed one would make itself another.
	Whole bool
}

// Permit says why a key does not reach this. It is the one place where the scopes and limits of keys are judged, for all doors.
func Permit(key posthouse.Key, use Use) error {
	switch {
	case !key.Scope.Allows(use.Scope):
		return forbidden("the key's scope is %s: this needs %s", key.Scope, use.Scope)
	case use.Whole && key.Any(), use.Whole && key.Quota.Any():
		return forbidden("the key is narrowed: this needs one that is not")
	case len(key.Actions) > 0 && !Matches(key.Actions, use.Action):
		return forbidden("the key is for the actions %s: this is %s", strings.Join(key.Actions, ", "), use.Action)
	case !use.Sight && len(key.Channels)+len(key.Kinds) > 0:
		return forbidden("the key is narrowed to some channels or kinds: this is about more")
	}
	return nil
}

func forbidden(format string, args ...any) error {
	return posthouse.Errorf(posthouse.CodeForbidden, format, args...)
}

// Matches reports whether one of the patterns, such as messages.* or *.read, is of an action.
func Matches(patterns []string, action string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, action); ok {
			return true
		}
	}
	return false
}

// SightOf is what a key sees: nothing, where it is no key.
func SightOf(key posthouse.Key) work.Sight {
	if key.Scope == "" {
		return work.Sight{}
	}
	return work.See(key.Channels, key.Kinds)
}

// CallerOf is on whose behalf something is handed in with a key: it sees what the key is narrowed to, and counts against the key's
// quota.
func CallerOf(key posthouse.Key) work.Caller {
	return work.Caller{
		Sight:      SightOf(key),
		Payer:      work.Payer{Key: key.ID, Open: key.Quota.Open, MentionAll: key.Quota.MentionAll},
		MentionAll: key.May(posthouse.GrantMentionAll),
		Critical:   key.May(posthouse.GrantCritical),
	}
}
