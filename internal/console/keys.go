package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// ring is what the page of keys shows.
type ring struct {
	List     []keyLine
	Next     string
	Draft    posthouse.Key // as the form says it
	New      *wire.NewKey  // which is shown this once
	Problems []posthouse.Problem
}

// keyLine is a key in a list.
type keyLine struct{ posthouse.Key }

// Stands says, as a word, whether a key is valid now.
func (k keyLine) Stands() string {
	switch {
	case !k.RevokedAt.IsZero():
		return "key_revoked"
	case k.ExpiresAt.IsZero():
		return "key_valid"
	case k.ExpiresAt.After(time.Now()):
		return "key_ends"
	}
	return "key_ended"
}

// Valid reports whether a key opens anything now.
func (k keyLine) Valid() bool { return k.Stands() == "key_valid" || k.Stands() == "key_ends" }

// Class is the colour of that word.
func (k keyLine) Class() string {
	return map[string]string{"key_valid": "ok", "key_ends": "paused"}[k.Stands()]
}

// Fleeting says that nothing keeps a page with a secret.
func (r ring) Fleeting() bool { return r.New != nil }

// Scopes are those that a form gives. A key of an agent is made with the agent.
func (f frame) Scopes() []posthouse.Scope {
	return []posthouse.Scope{posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin}
}

func showKeys(v *visit) error {
	return ring{Draft: posthouse.Key{Scope: posthouse.ScopeSend}}.draw(v, http.StatusOK)
}

func (r ring) draw(v *visit, status int) error {
	list, err := v.call().Keys.List(v.ctx())
	if err != nil {
		return err
	}
	// What is valid stands before what has ended.
	slices.SortStableFunc(list, func(a, b posthouse.Key) int {
		return map[bool]int{true: 0, false: 1}[keyLine{a}.Valid()] - map[bool]int{true: 0, false: 1}[keyLine{b}.Valid()]
	})
	part, next := cut(v, list, boardLength)
	for _, k := range part {
		r.List = append(r.List, keyLine{k})
	}
	r.Next = next
	return v.draw(status, "keys", "keys", r)
}

// addKey makes a key of the tenant and shows its secret, this once.
func addKey(v *visit) error {
	r := ring{Draft: posthouse.Key{Name: v.form("name"), Scope: posthouse.Scope(v.form("scope"))}}
	made, err := v.call().Keys.Create(withNote(v.ctx(), v.form("note")), wire.Key{Name: r.Draft.Name, Scope: r.Draft.Scope, Note: v.form("note")})
	if err == nil {
		r.New, r.Draft.Name = &made, ""
		return r.draw(v, http.StatusOK)
	}
	if r.Problems = refusalOf(err, "name"); r.Problems == nil {
		return err
	}
	return r.draw(v, http.StatusUnprocessableEntity)
}

// keyLife is what the page of a key shows.
type keyLife struct {
	keyLine
	Last     *wire.AuditEntry // the last change that was made with it, nil for none
	New      *wire.NewKey     // the one that takes its place, which is shown this once
	Overlap  string           // as the form says it
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a secret.
func (k keyLife) Fleeting() bool { return k.New != nil }

// overlaps are how long a form lets an old key or secret stay valid beside the new one, as the API reads them.
func overlaps() []string { return []string{"0s", "1h", "24h", "7d", "30d"} }

// Overlaps are those to choose from.
func (f frame) Overlaps() []string { return overlaps() }

// OverlapWord is one of them in words.
func (f frame) OverlapWord(text string) string {
	var d posthouse.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil || d == 0 {
		return f.T("overlap_none")
	}
	return f.Span(d.Std())
}

// overlapOf reads how long the old one stays valid; nil where the form says nothing of the list.
func overlapOf(v *visit) *posthouse.Duration {
	var d posthouse.Duration
	if text := v.form("overlap"); !slices.Contains(overlaps(), text) || d.UnmarshalText([]byte(text)) != nil {
		return nil
	}
	return &d
}

func showKey(v *visit) error { return drawKey(v, http.StatusOK, keyLife{}) }

// drawKey fills in the key that the address names.
func drawKey(v *visit, status int, k keyLife) error {
	list, err := v.call().Keys.List(v.ctx())
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(one posthouse.Key) bool { return one.ID == v.r.PathValue("id") })
	if at < 0 {
		return nowhere(v)
	}
	k.Key = list[at]
	if v.may(admin, "audit.read") {
		page, err := v.call().Audit.List(v.ctx(), client.AuditFilter{Key: k.ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Items) > 0 {
			k.Last = &page.Items[0]
		}
	}
	return v.draw(status, "key", "keys", k)
}

// rotateKey makes the key that takes the place of another one, and shows its secret, this once.
func rotateKey(v *visit) error {
	k := keyLife{Overlap: v.form("overlap")}
	overlap := overlapOf(v)
	if overlap == nil {
		k.Problems = problemAt("overlap", say("want_overlap", v.zh))
		return drawKey(v, http.StatusUnprocessableEntity, k)
	}
	made, err := v.call().Keys.Rotate(withNote(v.ctx(), v.form("note")), v.r.PathValue("id"), overlap)
	if err != nil {
		return err
	}
	k.New = &made
	return drawKey(v, http.StatusOK, k)
}
