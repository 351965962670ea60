package console

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/wire"
)

// says is a text of the server's in the visitor's language, with what stands before its colon or as its path kept; false where it is not known
// in Chinese.
func (v *visit) says(text string) (string, bool) {
	if !v.zh {
		return text, true
	}
	return catalog.Error(text)
}

// stateIn is a state within a sentence: in English as the API names it, since the words of pages, such as "goes on", stand by themselves.
func (v *visit) stateIn(kind, state string) string {
	if !v.zh {
		return state
	}
	return say(kind+state, true)
}

// Says is a text of the server's, such as an error, in the visitor's language as far as it is known there, cut for a page.
func (f frame) Says(text string) string {
	said, _ := f.v.says(text)
	if f.v.zh && f.v.filled != nil {
		said = f.v.filled.Labelled(said)
	}
	return f.Short(said)
}

// where is where a problem is: as the API names it, and in words, empty where the visitor's language has none.
type where struct{ Path, Said, Colon string }

// Where says where a problem is, such as in a line of a file.
func (f frame) Where(path string) where {
	if !f.v.zh {
		return where{Path: path}
	}
	if f.v.filled != nil {
		if label := labelOf(f.v.filled, path); label != "" {
			return where{path, label, f.colon()}
		}
	}
	field, _, _ := strings.Cut(strings.TrimPrefix(path, "query."), "[")
	called := f.Member(field)
	if said, ok := catalog.Path(path); ok {
		if rest, raw := strings.CutPrefix(said, field); raw {
			said = called + rest
		}
		return where{path, said, f.colon()}
	}
	if called != field {
		return where{path, called, f.colon()}
	}
	return where{Path: path}
}

// labelOf is the Chinese label of the field that a path leads to, or that a part of it stands in, and which of its items is meant. It is
// empty where the form has no such field.
func labelOf(filled *form.Form, path string) string {
	field, item, listed := strings.Cut(path, "[")
	label := filled.Label(field)
	if parent, _, within := strings.Cut(field, "."); label == "" && within {
		label = filled.Label(parent) // a time zone of a budget, which is one field of the form
	}
	if said, ok := catalog.Path("[" + item); listed && label != "" && ok {
		return label + " " + said
	}
	return label
}

// colon is what stands behind a label.
func (f frame) colon() string {
	if f.v.zh {
		return "："
	}
	return ": "
}

// ReasonWord is the reason of a delivery in words, where they are known in the visitor's language.
func (f frame) ReasonWord(code string) string {
	if !f.v.zh {
		return f.Short(catalog.ReasonPlain(code))
	}
	return f.Short(catalog.Reason(code))
}

// Why is why a delivery is in its state, in a word: its reason, or that its channel is paused where it waits for nothing else that is known.
func (f frame) Why(d posthouse.Delivery) string {
	if d.State != posthouse.Pending || d.Reason != "" || d.Error != "" {
		return f.ReasonWord(d.Reason)
	}
	list, err := f.v.channels()
	if err != nil {
		return "" // the list of the deliveries holds without it
	}
	for i := range list {
		if list[i].Name == d.Channel && list[i].PausedAt(time.Now()) {
			return f.T("channel_is_paused")
		}
	}
	return ""
}

// CheckName is what the server looks at, on the page of the system.
func (f frame) CheckName(name string) string {
	if !f.v.zh {
		return name
	}
	if of, ok := strings.CutPrefix(name, "channel "); ok {
		return "渠道 " + of
	}
	return cmp.Or(map[string]string{"database": "数据库", "schema": "数据库结构", "epoch": "数据库纪元", "queue": "队列", "channels": "渠道"}[name], name)
}

// InZone is a sentence of the server with its times as the reader's clock shows them.
func (f frame) InZone(text string) string {
	return catalog.WithTimes(text, f.Clock)
}

// With is the frame together with what a part of a page shows.
func (f frame) With(list any) part { return part{f, list} }

type part struct {
	F    frame
	List any
}

// Summary says why a delivery is where it is.
func (f frame) Summary(x wire.Explanation) string { return f.Says(x.Summary) }

// causes are the words of what holds a delivery.
func causes() map[string]string {
	return map[string]string{
		"lease": "到时仍没有结果，就记为未知或转交他人", "query": "将向平台查询结果", "hold": "到时记为失败", "operator": "等回执，或人工确认",
		"scheduled": "还没到定时发送的时间", "backoff": "失败后等待下一次重试", "limit": "限流窗口已满", "cap": "收件人已达到频次上限", "quiet_hours": "收件人处于免打扰时段", "rule": "规则要求推迟",
		"channel": "本进程没有打开该渠道，/readyz 有说明", "paused": "渠道或账号已被暂停", "epoch": "数据库被恢复过，需要重启本进程",
		"account": "没有可用的发送账号，或平台拒绝该账号", "machine": "本机暂时连不上平台", "blocked": "本服务的网络规则不允许访问该地址", "order": "同一顺序键的前一条消息还没有了结", "digest": "等待与其他消息汇总成一条", "run": "该渠道按固定间隔发送，等下一轮",
		"rate": "账号当前速率有限", "inflight": "本进程的并发位已用满",
	}
}

// Cause says what holds a delivery, as explain does; in Chinese in general, where its own words are not known there, as those of a person
// are.
func (f frame) Cause(w wire.Wait) string {
	detail, known := f.v.says(w.Detail)
	detail = f.InZone(detail)
	if zh := causes()[w.Cause]; f.v.zh && zh != "" && !known {
		return zh + "（" + f.Short(detail) + "）"
	}
	return f.Short(detail)
}

// eventWords are the words of what happened to a delivery.
func eventWords() map[posthouse.EventType]word {
	return map[posthouse.EventType]word{
		posthouse.EventAccept: {"accepted", "受理"}, posthouse.EventSuppress: {"a rule said no", "规则拦截"}, posthouse.EventClaim: {"handed to a phone", "下发给发送端"},
		posthouse.EventStart: {"sending began", "开始发送"}, posthouse.EventRelease: {"given back unsent", "未发送，退回"}, posthouse.EventLeaseLost: {"its holder was lost", "租约丢失"},
		posthouse.EventQuarantine: {"quarantined", "隔离"}, posthouse.EventSent: {"the provider has taken it", "平台已接收"}, posthouse.EventRetry: {"failed, will be tried again", "失败，将重试"},
		posthouse.EventFail: {"failed for good", "最终失败"}, posthouse.EventAmbiguous: {"no answer: nobody knows", "没有应答，结果未知"}, posthouse.EventResend: {"is tried again with the same key", "用同一幂等键重试"},
		posthouse.EventAssumeSent: {"counted as sent", "视为已发"}, posthouse.EventResolve: {"decided", "人工确认"}, posthouse.EventHoldTimeout: {"held for too long", "挂起超时"},
		posthouse.EventEvidence: {"late proof", "事后证据"}, posthouse.EventReceipt: {"receipt", "回执"}, posthouse.EventCancel: {"cancelled", "撤销"},
		posthouse.EventCancelRequest: {"a cancel was asked for", "请求撤销"}, posthouse.EventExpire: {"its deadline passed", "超过截止时间"}, posthouse.EventRequeue: {"let go on by a person", "人工放行"},
		posthouse.EventDiscard: {"discarded by a person", "人工丢弃"}, posthouse.EventEpochHold: {"held after a restore", "恢复数据库后挂起"}, posthouse.EventMove: {"moved to another account", "换账号"},
		posthouse.EventAdmit:  {"its turn in line has come", "轮到它发送"},
		posthouse.EventGather: {"shares what became of its digest", "随汇总变更状态"},
		posthouse.EventWake:   {"quiet hours were changed: it comes due sooner", "免打扰时段有变，提前到期"}, posthouse.EventRecall: {"a recall was asked for", "请求撤回"},
	}
}

// Nth names an attempt by its number.
func (f frame) Nth(n int) string {
	if f.v.zh {
		return fmt.Sprintf("第 %d 次发送", n)
	}
	return fmt.Sprintf("Attempt %d", n)
}

// EventWord says what happened.
func (f frame) EventWord(e posthouse.Event) string {
	w, ok := eventWords()[e.Type]
	switch {
	case !ok:
		return string(e.Type)
	}
	return w.In(f.v.zh)
}

func classWords() map[posthouse.Class]word {
	return map[posthouse.Class]word{
		posthouse.ClassOK: {"accepted", "已接收"}, posthouse.ClassTransient: {"refused for now", "暂时拒绝"}, posthouse.ClassRate: {"too fast", "超过频率"},
		posthouse.ClassAuth: {"credentials refused", "凭证被拒"}, posthouse.ClassAccount: {"account refused", "账号被拒"}, posthouse.ClassLocal: {"our machine could not", "本机故障"},
		posthouse.ClassBlocked:   {"not allowed by this server", "本服务不允许"},
		posthouse.ClassRecipient: {"recipient cannot be reached", "收件人无法送达"}, posthouse.ClassContent: {"content refused", "内容被拒"},
		posthouse.ClassRequest: {"our request is malformed", "请求有误"}, posthouse.ClassUnknown: {"nobody knows", "结果未知"},
	}
}

// ClassWord says what an attempt's result means.
func (f frame) ClassWord(c posthouse.Class) string {
	w, ok := classWords()[c]
	switch {
	case !ok:
		return string(c)
	}
	return w.In(f.v.zh)
}

// ResultWord says what the result of an attempt means that an event followed: what ends a delivery was not refused for now alone.
func (f frame) ResultWord(c posthouse.Class, e posthouse.Event) string {
	if c == posthouse.ClassTransient && e.To == posthouse.Failed {
		return f.T("refused_at_all")
	}
	return f.ClassWord(c)
}

// Support is what a person copies to those who help: no content and no address. Codes stand beside their words, for those who read another
// language.
func (f frame) Support(d posthouse.Delivery, x wire.Explanation) string {
	coded := func(word, code string) string {
		if word == code || code == "" {
			return word
		}
		return word + " (" + code + ")"
	}
	why, _ := f.v.says(x.Summary)
	lines := [][2]string{
		{"delivery", d.ID}, {"channel", d.Channel}, {"state", coded(f.T(string(d.State)), string(d.State))}, {"reason", coded(f.ReasonWord(d.Reason), d.Reason)},
		{"attempts", strconv.Itoa(d.Attempts)}, {"changed", f.ISO(d.UpdatedAt)}, {"why_short", f.InZone(f.Short(why))},
	}
	for _, w := range x.Waits {
		lines = append(lines, [2]string{"waits_for", coded(f.Cause(w), w.Cause)})
	}
	lines = append(lines, [2]string{"provider_id", f.Short(d.ProviderRef)}, [2]string{"version", f.Version()})
	var b strings.Builder
	for _, l := range lines {
		if l[1] != "" {
			b.WriteString(f.T(l[0]) + f.colon() + l[1] + "\n")
		}
	}
	return b.String()
}
