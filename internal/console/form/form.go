// Package form is the forms of channels, drawn from the fields of a driver: what each field shows, what was
// sent of it, and where a problem belongs. It knows no page, no request and no texts but those that stand beside a setting.
package form

import (
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/wire"
)

// Form is the form of a channel.
type Form struct {
	Driver   wire.Driver
	Name     string
	New      bool
	Version  string // the tag of what the form shows: it is stored over nothing else
	Moved    bool   // somebody else has changed it since the form was drawn
	Fields   []Field
	Settings []Field
	Problems []posthouse.Problem // that belong to no field
}

// Sent is what was sent of a form by the names of its fields, empty for nothing.
type Sent func(name string) string

// OfChannel is the form of a channel, of a new one where it has no name.
func OfChannel(d wire.Driver, ch posthouse.Channel) Form {
	f := Form{Driver: d, Name: ch.Name, New: ch.Name == "", Version: ch.Tag(), Settings: channelSettings(ch)}
	for _, one := range ofChannel(d, ch) {
		f.Fields = append(f.Fields, fieldOf(one, ch.Config[one.Name]))
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

// Refill makes the form what was sent, but for secrets, which are typed again.
func (f *Form) Refill(sent Sent) {
	for _, list := range [][]Field{f.Fields, f.Settings} {
		for i := range list {
			list[i].refill(sent)
		}
	}
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

// Place puts each problem beside the field that it is about.
func (f *Form) Place(problems []posthouse.Problem) {
	for _, p := range problems {
		if !place(f.Fields, p) && !place(f.Settings, p) {
			f.Problems = append(f.Problems, p)
		}
	}
}

// channelSettings are the settings that the forms of channels have; the others stay as they are.
func channelSettings(ch posthouse.Channel) []Field {
	var policies []string
	for _, p := range posthouse.Policies() {
		policies = append(policies, string(p))
	}
	return []Field{
		{Field: wire.Field{Label: "Profile", LabelZH: "预设", Help: "A set of defaults, such as duty, flow or wecom.", HelpZH: "一组默认设置，例如 duty、flow、wecom。", Kind: "string"}, Name: "profile", Value: ch.Profile},
		{Field: wire.Field{Label: "Tries", LabelZH: "最多失败次数", Help: "How many failures end a delivery. Without it the profile's, or 8.", HelpZH: "失败多少次后不再重试。不填则按预设，或 8 次。", Kind: wire.FieldKind(channel.KindInt), Min: 1}, Name: "tries", Value: unlessZero(ch.Tries)},
		{Field: wire.Field{Label: "If it is unknown whether it arrived", LabelZH: "结果未知时", Help: "Try again, hold for a person, ask the provider, or count as sent.", HelpZH: "retry 重试，hold 等人处理，query 查询平台，assume_sent 视为已发。", Kind: wire.FieldKind(channel.KindChoice), Choices: policies}, Name: "on_unknown", Value: string(ch.OnUnknown)},
		{Field: windowsField("Without it the driver's.", "不填则按渠道驱动的默认值。"), Name: "limits", Value: posthouse.LimitsText(ch.Limits, "\n")},
	}
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
