// Package form is the forms of channels and of their accounts, drawn from the fields of a driver: what each field shows, and what was sent
// of it. It knows no page, no request and no texts but those that stand beside a setting.
package form

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/wire"
)

// Form is the form of a channel, or of an account of one.
type Form struct {
	Of       string // what it makes or changes, of which its page and title are named, empty for a channel
	Driver   wire.Driver
	Channel  string // that an account is of, empty for a channel
	Name     string
	New      bool
	Version  string // the tag of what the form shows: it is stored over nothing else
	Moved    bool   // somebody else has changed it since the form was drawn
	Fields   []Field
	Settings []Field
	Problems []posthouse.Problem
	Note     string // of the audit log, as it was sent
}

// Sent is what was sent of a form by the names of its fields, empty for nothing.
type Sent func(name string) string

// OfChannel is the form of a channel, of a new one where it has no name.
func OfChannel(d wire.Driver, ch posthouse.Channel) Form {
	f := Form{Driver: d, Name: ch.Name, New: ch.Name == "", Version: ch.Tag(), Settings: channelSettings(ch)}
	for _, one := range ofChannel(d, ch) {
		f.Fields = append(f.Fields, fieldOf(one, ch.Config[one.Name]))
		f.Fields[len(f.Fields)-1].Lax = one.Account // of a channel with several accounts, each has it
	}
	return f
}

// ofChannel are the fields that a channel has. Where it sends by several accounts, what is an account's stands with each of them: the
// channel has only what it says of such for all, and need not.
func ofChannel(d wire.Driver, ch posthouse.Channel) []wire.Field {
	var list []wire.Field
	for _, one := range d.Fields {
		if one.Account && ch.Accounts {
			if ch.Config[one.Name] == nil {
				continue
			}
			one.Required = false
		}
		list = append(list, one)
	}
	return list
}

// OfTenant is the form of a tenant, of a new one where it has no name. Quiet hours and caps have a page of their own.
func OfTenant(t posthouse.Tenant) Form {
	lines := wire.FieldKind(channel.KindList)
	return Form{Of: "tenant", Name: t.Name, New: t.Name == "", Version: t.Tag(), Fields: []Field{
		{Field: wire.Field{Label: "Note", LabelZH: "备注", Help: "For people.", HelpZH: "供人查看。", Kind: wire.FieldKind(channel.KindString)}, Name: "for", Paths: "note", Value: t.Note},
		{Field: wire.Field{Label: "Language", LabelZH: "语言", Help: "What its people read who have none of their own, such as zh or en. Without it each template's own.", HelpZH: "未单独设置语言的人使用，例如 zh、en。不填则用模板的默认内容。", Kind: wire.FieldKind(channel.KindString)}, Name: "language", Value: t.Language},
		{Field: wire.Field{Label: "Requests", LabelZH: "请求数上限", Help: "Of all its keys together, one window a line, such as 20/1s or 600/1m. Without it unbounded.", HelpZH: "全部密钥合计，每行一个窗口，例如 20/1s、600/1m。不填则不限。", Kind: wire.FieldKind(channel.KindText)}, Name: "quota.requests", Value: limittext.Text(t.Quota.Requests, "\n")},
		{Field: wire.Field{Label: "Open deliveries", LabelZH: "未结束的投递上限", Help: "How many may be pending, sending or unknown at once. Without it unbounded.", HelpZH: "同时等待、发送中和结果未知的投递最多多少条。不填则不限。", Kind: wire.FieldKind(channel.KindInt)}, Name: "quota.open", Value: unlessZero(t.Quota.Open)},
		{Field: wire.Field{Label: "Messages to everybody, in 24 hours", LabelZH: "24 小时内 @所有人 的上限", Help: "How many messages may call everybody in a group. Without it unbounded.", HelpZH: "最多多少条消息可以 @所有人。不填则不限。", Kind: wire.FieldKind(channel.KindInt)}, Name: "quota.mention_all", Value: unlessZero(t.Quota.MentionAll)},
		{Field: wire.Field{Label: "Mandatory kinds", LabelZH: "必达的业务类型", Help: "No user may switch them off.", HelpZH: "用户不能关闭。", Kind: lines}, Name: "mandatory_kinds", Value: strings.Join(t.MandatoryKinds, "\n")},
		{Field: wire.Field{Label: "Optional kinds", LabelZH: "可关闭的业务类型", Help: "The users' page of preferences offers to switch them off.", HelpZH: "在用户的偏好页面上可以关闭。", Kind: lines}, Name: "optional_kinds", Value: strings.Join(t.OptionalKinds, "\n")},
	}}
}

// OfAccount is the form of an account of a channel, of a new one where it has no name.
func OfAccount(d wire.Driver, channel string, a posthouse.Account) Form {
	f := Form{Driver: d, Channel: channel, Name: a.Name, New: a.Name == "", Version: a.Tag(), Settings: accountSettings(a)}
	for _, one := range ofAccount(d) {
		f.Fields = append(f.Fields, fieldOf(one, a.Config[one.Name]))
	}
	return f
}

// ofAccount are the fields of a driver that differ between accounts. What a channel says of one for all of them need not be said.
func ofAccount(d wire.Driver) []wire.Field {
	var list []wire.Field
	for _, one := range d.Fields {
		if one.Account {
			list = append(list, one)
		}
	}
	return list
}

// Section is fields that stand together: in view, or folded under what they are for.
type Section struct {
	Label, LabelZH string // of the group, empty for what is in view
	Fields         []Field
}

// Open reports whether a folded section has to be seen: something in it is set, or is to be looked at.
func (s Section) Open() bool { return slices.ContainsFunc(s.Fields, Field.seen) }

// Sections are the fields of the driver, those of each group together.
func (f Form) Sections() []Section { return sections(f.Fields) }

// Tuning are the settings, those of each group together.
func (f Form) Tuning() []Section { return sections(f.Settings) }

func sections(fields []Field) (list []Section) {
	for _, one := range fields {
		if n := len(list); n == 0 || list[n-1].Label != one.Group {
			list = append(list, Section{Label: one.Group, LabelZH: one.GroupZH})
		}
		last := &list[len(list)-1]
		last.Fields = append(last.Fields, one)
	}
	return list
}

// Refill makes the form what was sent, but for secrets, which are typed again.
func (f *Form) Refill(sent Sent) {
	f.Note = sent("note")
	for _, list := range [][]Field{f.Fields, f.Settings} {
		for i := range list {
			list[i].refill(sent)
		}
	}
}

// called is what an error of the API calls a field by. What stands in quotes, in a list of values or with a slash or an equals sign, as an example
// does, is no field.
var called = regexp.MustCompile(`"[^"]*"|[^\s，。；：（）]*[/=][^\s，。；：（）]*|(?:[\w.]+、)+[\w.]+|[a-z][a-z_.]*[a-z]`)

// Labelled is a Chinese text of an error in which the fields that it names are called as the form calls them.
func (f *Form) Labelled(text string) string {
	return called.ReplaceAllStringFunc(text, func(name string) string {
		if label := f.Label(name); label != "" {
			return "“" + label + "”"
		}
		return name
	})
}

// Label is the Chinese label of the field whose problems have a path, empty where there is none.
func (f *Form) Label(path string) string {
	for _, list := range [][]Field{f.Fields, f.Settings} {
		if i := slices.IndexFunc(list, func(one Field) bool { return one.Name == path }); i >= 0 {
			return list[i].LabelZH
		}
	}
	return ""
}

// Compare notes beside each field what is stored, where the form says something else. yes and no are of a checkbox.
func (f *Form) Compare(stored Form, yes, no string) {
	f.Moved = true
	for i, list := range [][]Field{stored.Fields, stored.Settings} {
		mine := [][]Field{f.Fields, f.Settings}[i]
		for j := range list {
			mine[j].compare(&list[j], yes, no)
		}
	}
}

// channelSettings are the settings of a channel as its form shows them.
func channelSettings(ch posthouse.Channel) (list []Field) {
	for _, s := range settings() {
		for i, value := range s.show(ch) {
			f := s.fields[i]
			if f.Value = value; f.is(channel.KindBool) {
				f.Value, f.Checked = "", value != ""
			}
			list = append(list, f)
		}
	}
	return list
}

// accountSettings are the settings of an account.
func accountSettings(a posthouse.Account) []Field {
	base := ""
	if a.BaseRate > 0 {
		base = text(a.BaseRate)
	}
	return []Field{
		{Field: wire.Field{Label: "Weight", LabelZH: "权重", Help: "Its share of what is pinned to no account, from 1 to 1000. Without it 1.", HelpZH: "未指定账号的消息按权重分配，1 至 1000。不填为 1。", Kind: wire.FieldKind(channel.KindInt), Min: 1}, Name: "weight", Value: unlessZero(a.Weight)},
		{Field: wire.Field{Label: "Pools", LabelZH: "账号池", Help: "Labels that messages may ask for instead of one account.", HelpZH: "消息可以指定账号池，由池中任一账号发送。", Kind: wire.FieldKind(channel.KindList)}, Name: "pools", Value: strings.Join(a.Pools, "\n")},
		{Field: wire.Field{Label: "Base rate", LabelZH: "基准速率", Help: "How many calls a second it makes at most. Without it the channel's.", HelpZH: "每秒最多调用几次。不填则按渠道的设置。", Kind: wire.FieldKind(channel.KindString)}, Name: "base_rate", Value: base},
		{Field: windowsField("Without it those that the channel gives its accounts.", "不填则按渠道为账号设的窗口。"), Name: "limits", Windows: true, Value: limittext.Text(a.Limits, "\n")},
		{Field: budgetField(" Without it the one that the channel gives its accounts.", "不填则按渠道为账号设的预算。"), Name: "budget", Value: limittext.BudgetText(a.Budget)},
	}
}

func budgetField(without, withoutZH string) wire.Field {
	return wire.Field{Label: "Budget", LabelZH: "预算", Help: "How much may be sent in a day or a month of the calendar, such as 20000/month@Asia/Shanghai or 500/day/when_spent=high_priority." + without, HelpZH: "每个自然日或自然月最多发送多少，例如 20000/month@Asia/Shanghai、500/day/when_spent=high_priority（用完后只发高优先级）。" + withoutZH, Kind: wire.FieldKind(channel.KindString)}
}

func windowsField(without, withoutZH string) wire.Field {
	return wire.Field{Label: "Limits", LabelZH: "限流", Help: "One window a line, such as 20/1s or 1000/1m, or unlimited. " + without, HelpZH: "每行一个窗口，例如 20/1s、1000/1m；unlimited 表示不限。" + withoutZH, Kind: wire.FieldKind(channel.KindText)}
}

func unlessZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
