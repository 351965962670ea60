package console

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/seek"
	"github.com/posthouse/posthouse/wire"
)

// auditLog is what the page of the audit log shows.
type auditLog struct {
	times
	Key, Action, Target, About string
	Lines                      []auditLine
	Next                       string   // the query of the next page
	Actions                    []string // that are offered
	Narrowed                   bool
}

// auditLine is a line of the log, with what it changed.
type auditLine struct {
	wire.AuditEntry
	Who     string
	Changes []auditChange
	Asked   string // what was asked for, where that is no change of a thing
}

// Few are the first changes of a line, which stand in it while it is folded.
func (l auditLine) Few() []auditChange { return l.Changes[:min(len(l.Changes), 2)] }

// More reports whether there is more than stands in the folded line.
func (l auditLine) More() int { return len(l.Changes) - min(len(l.Changes), 2) }

func showAudit(v *visit) error {
	a := auditLog{Key: v.query("key"), Action: v.query("action"), Target: v.query("target"), About: v.query("about"), Actions: auditActions()}
	var q seek.Question
	var err error
	if a.times, err = questionOf(v, v.query, &q); err != nil {
		return err
	}
	who, err := keyMeant(v, a.Key)
	if err != nil {
		return err
	}
	filter := client.AuditFilter{Key: who, Action: cmp.Or(frame{v: v}.actionsMeant(a.Action), actionsAbout(a.About)), Target: a.Target, Since: q.Since, Until: q.Until, Cursor: v.query("cursor"), Limit: pageLength}
	page, err := linesOf(v, filter, v.query("account"))
	if err != nil {
		return err
	}
	said, err := teller(v)
	if err != nil {
		return err
	}
	a.Narrowed = a.Key+a.Action+a.Target+a.From+a.To != ""
	for _, e := range page.Items {
		a.Lines = append(a.Lines, said.line(e))
	}
	if page.Next != "" {
		next := v.r.URL.Query()
		next.Set("cursor", page.Next)
		a.Next = "?" + next.Encode()
	}
	return v.show("audit", "audit", a)
}

// auditActions are the actions that the log is asked for most.
func auditActions() []string {
	return []string{
		"channels.put", "channels.delete", "channels.pause", "channels.resume", "channels.test", "accounts.put", "accounts.delete", "accounts.pause", "accounts.resume",
		"templates.put", "routes.put", "routes.delete", "rosters.put", "users.put", "campaigns.create", "campaigns.start", "campaigns.pause", "campaigns.resume", "campaigns.cancel",
		"deliveries.resolve", "deliveries.replay", "messages.cancel", "messages.recall", "decisions.create", "decisions.undo", "contents.reveal", "keys.create", "keys.rotate", "keys.delete", "people.put", "people.reset-totp", "people.sign-in",
	}
}

// With is the page narrowed to a value of one filter.
func (a auditLog) With(name, value string) string { return "?" + url.Values{name: {value}}.Encode() }

// ActionWord is an action in words, as it is where they are not known.
func (f frame) ActionWord(action string) string {
	of, done, _ := strings.Cut(action, ".")
	thing, act := f.T("audit_of_"+of), f.T("audit_do_"+done)
	if strings.HasPrefix(thing, "audit_of_") || strings.HasPrefix(act, "audit_do_") {
		return action
	}
	if before, after, inside := strings.Cut(act, "…"); inside {
		return before + thing + after
	}
	if f.v.zh {
		return act + thing
	}
	return act + " " + thing
}

// HistoryOf is History of an account. The log keeps its channel as what was changed.
func (f frame) HistoryOf(channel, account string) string {
	at := f.History("accounts", channel)
	if at == "" {
		return ""
	}
	return at + "&" + url.Values{"account": {account}}.Encode()
}

// mostRead bounds the pages of the log that are read for lines of one account.
const mostRead = 10

// linesOf reads a page of the log; of one account where one is named, whose channel the log keeps as what was changed.
func linesOf(v *visit, filter client.AuditFilter, account string) (page wire.Page[wire.AuditEntry], err error) {
	var lines []wire.AuditEntry
	for range mostRead {
		if page, err = v.call().Audit.List(v.ctx(), filter); err != nil {
			return page, err
		}
		for _, e := range page.Items {
			if account == "" || isOf(e, account) {
				lines = append(lines, e)
			}
		}
		if filter.Cursor = page.Next; page.Next == "" || len(lines) >= pageLength || account == "" {
			break
		}
	}
	page.Items = lines
	return page, nil
}

// isOf reports whether a line is about the account of a name.
func isOf(e wire.AuditEntry, account string) bool {
	var of struct{ Before, After struct{ Name string } }
	return json.Unmarshal(e.Detail, &of) == nil && (of.Before.Name == account || of.After.Name == account)
}

// actionsAbout are the actions on a kind of thing. Accounts belong to their channel.
func actionsAbout(kind string) string {
	switch kind {
	case "":
		return ""
	case "channels":
		return "channels.*,accounts.*"
	}
	return kind + ".*"
}

// History is the page of what was changed of a thing; empty where the person may not see it.
func (f frame) History(about, target string) string {
	if !f.May("audit.read") {
		return ""
	}
	return f.At("audit") + "?" + url.Values{"about": {about}, "target": {target}}.Encode()
}
