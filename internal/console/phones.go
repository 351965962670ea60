package console

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// phone is a line of the list of phones and other programs that fetch what they send.
type phone struct{ wire.Agent }

// aliveFor is how long after its last call a phone counts as alive: one that waits for work calls each minute.
const aliveFor = 3 * time.Minute

// Alive says, as a word, whether a phone calls.
func (p phone) Alive() string {
	switch {
	case p.LastSeenAt.IsZero():
		return "phone_never"
	case time.Since(p.LastSeenAt) <= aliveFor:
		return "phone_alive"
	}
	return "phone_silent"
}

// Class is the colour of that word.
func (p phone) Class() string {
	if p.Alive() == "phone_alive" {
		return "ok"
	}
	return "parked"
}

// Colour is that of its state.
func (p phone) Colour() string {
	if p.State == posthouse.AgentActive {
		return "ok"
	}
	return "paused"
}

// phonesPage is a page of the list.
type phonesPage struct {
	List []phone
	Next string
}

func showPhones(v *visit) error {
	page, err := v.call().Agents.List(v.ctx(), client.Filter{Cursor: v.query("cursor"), Limit: pageLength})
	if err != nil {
		return err
	}
	p := phonesPage{Next: page.Next}
	for _, a := range page.Items {
		one, err := v.call().Agents.Get(v.ctx(), a.ID) // with what it holds
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			continue // it was taken away meanwhile
		}
		if err != nil {
			return err
		}
		p.List = append(p.List, phone{one})
	}
	return v.show("phones", "phones", p)
}

// phoneLife is what the page of a phone shows.
type phoneLife struct {
	phone
	Held    []wire.Held
	More    int // that it holds and the page does not show
	Reports []wire.Line
	Actions []string // what can be done with it now
}

// Left is what is left of the lease of a delivery.
func (phoneLife) Left(h wire.Held) time.Duration {
	return max(0, time.Duration(h.LeaseMillis)*time.Millisecond)
}

// mostHeld bounds how many deliveries the page of a phone shows.
const mostHeld = 100

func showPhone(v *visit) error {
	id := v.r.PathValue("id")
	a, err := v.call().Agents.Get(v.ctx(), id)
	if err != nil {
		return err
	}
	p := phoneLife{phone: phone{a}}
	if p.Held, err = v.call().Handouts.List(v.ctx(), id); err != nil {
		return err
	}
	if n := len(p.Held); n > mostHeld {
		p.Held, p.More = p.Held[:mostHeld], n-mostHeld
	}
	reports, err := v.call().Logs.List(v.ctx(), wire.ReportLog, client.LogFilter{Agent: id, Limit: pageLength})
	if err != nil {
		return err
	}
	p.Reports = reports.Items
	for _, action := range phoneActions(a.State) {
		if v.may(admin, "agents."+action) {
			p.Actions = append(p.Actions, action)
		}
	}
	return v.show("phone", "phones", p)
}

// phoneActions are what people do with a phone, by its state.
func phoneActions(s posthouse.AgentState) []string {
	switch s {
	case posthouse.AgentActive:
		return []string{"pause", "drain", "reassign"}
	case posthouse.AgentPaused:
		return []string{"resume", "drain", "reassign"}
	}
	return []string{"resume", "reassign"}
}

// actOnPhone does what a button of the page says, where the phone is still in the state that the page showed.
func actOnPhone(act func(c client.Agents, ctx context.Context, id, reason string) error) func(*visit) error {
	return func(v *visit) error {
		id, reason := v.r.PathValue("id"), v.form("reason")
		a, err := v.call().Agents.Get(v.ctx(), id)
		if err != nil {
			return err
		}
		if v.form("state") != string(a.State) {
			return posthouse.Errorf(posthouse.CodeConflict, "the phone is %s now", a.State)
		}
		if err := act(v.call().Agents, withNote(v.ctx(), reason), id, reason); err != nil {
			return err
		}
		return v.goTo(v.at("phones", id) + "?said=changed_said")
	}
}

// phoneActs are the decisions about a phone by their names.
func phoneActs() map[string]func(*visit) error {
	return map[string]func(*visit) error{
		"pause": actOnPhone(func(c client.Agents, ctx context.Context, id, reason string) error {
			_, err := c.Pause(ctx, id, reason)
			return err
		}),
		"drain": actOnPhone(func(c client.Agents, ctx context.Context, id, reason string) error {
			_, err := c.Drain(ctx, id, reason)
			return err
		}),
		"resume": actOnPhone(func(c client.Agents, ctx context.Context, id, _ string) error {
			_, err := c.Resume(ctx, id)
			return err
		}),
		"reassign": actOnPhone(func(c client.Agents, ctx context.Context, id, reason string) error {
			_, err := c.Reassign(ctx, id, reason)
			return err
		}),
	}
}

// phoneWords are the texts of the pages of phones.
func phoneWords() map[string]word {
	return map[string]word{
		"phones":              {"Phones", "发送端"},
		"phone":               {"Phone", "发送端"},
		"no_phone":            {"There is no phone or other program that fetches messages yet.", "还没有发送端（取走消息自行发送的手机或程序）。"},
		"phone_alive":         {"alive", "在线"},
		"phone_silent":        {"silent", "离线"},
		"phone_never":         {"never seen", "从未连接"},
		"phone_active":        {"fetches", "正常"},
		"phone_paused":        {"paused", "已暂停"},
		"phone_draining":      {"draining", "排空中"},
		"phone_holds":         {"Holds", "持有数"},
		"phone_held":          {"What it holds", "持有的投递"},
		"phone_holds_nothing": {"It holds nothing.", "没有持有投递。"},
		"phone_more":          {"and more:", "其余未显示："},
		"phone_token":         {"Hand-out", "下发序号"},
		"phone_began":         {"Began", "开始发送"},
		"phone_not_begun":     {"not yet", "尚未开始"},
		"phone_lease":         {"Lease left", "租约剩余"},
		"phone_app":           {"App", "程序版本"},
		"phone_can":           {"Can", "能力"},
		"phone_reports":       {"What it reported last", "最近汇报"},
		"phone_no_report":     {"It has reported nothing.", "还没有汇报。"},
		"phone_outcome":       {"Outcome", "结果"},
		"phone_error":         {"Error", "错误"},
		"phone_answer":        {"Counted as", "处理结果"},
		"phone_no_limits":     {"none", "不限"},
		"phone_do_pause":      {"Pause", "暂停"},
		"phone_do_drain":      {"Drain", "排空"},
		"phone_do_resume":     {"Resume", "恢复"},
		"phone_do_reassign":   {"Take all from it", "收回全部"},
		"phone_help_pause":    {"It is handed nothing until somebody resumes it. It finishes and reports what it holds.", "不再下发，直到有人恢复；已持有的会发完并汇报。"},
		"phone_help_drain":    {"It is handed nothing more, finishes what it holds, and can then be taken away.", "不再下发，已持有的发完后即可移除。"},
		"phone_help_resume":   {"It is handed deliveries again.", "重新开始下发。"},
		"phone_help_reassign": {"For a phone that does not come back: what it has not begun goes to others at once; what it has begun may have left, and the channel's policy for unknown outcomes decides. This cannot be undone.", "用于不再回来的手机：尚未开始的立即转给其他发送端；已开始的可能已经发出，按渠道的未知策略处理。此操作无法撤回。"},
	}
}
