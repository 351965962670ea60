// Package pull is the driver of channels that agents fetch from: phones with a SIM card, and other programs
// that send by means of their own. It says what such a channel takes as an address and how long a text
// is on the air. It sends nothing: handing out, leases and reports are the engine's.
package pull

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/phone"
	"github.com/posthouse/posthouse/internal/sms"
)

// Name is the driver's name in a channel's configuration.
const Name = "pull"

// The contents that a channel may carry.
const (
	contentSMS = "sms"
	contentAny = "any"
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name:  Name,
		Title: "Agents that pull", TitleZH: "发送端拉取",
		Doc:     "Hands messages to phones and other agents that ask for them, and takes their reports.",
		DocZH:   "把消息交给来拉取的手机等发送端，并接收它们的结果汇报。",
		Fields:  fields(),
		Pull:    true,
		Window:  channel.Forever, // a hand-out carries the same idempotency key each time
		Timeout: 5 * time.Minute, // how long an agent holds what it was handed
		Address: address,
		AddressesOf: func(c channel.Config) channel.AddressKind {
			if c.String("content") == contentSMS {
				return channel.AddressPhone
			}
			return ""
		},
		Check: check,
		Open:  open,
	}
}

func fields() []channel.Field {
	return []channel.Field{{
		Name: "content", Kind: channel.KindChoice, Default: contentSMS, Choices: []channel.Choice{
			{Value: contentSMS, Label: "Text messages (SMS)", LabelZH: "短信"},
			{Value: contentAny, Label: "Anything", LabelZH: "任意内容"},
		},
		Label: "Content", LabelZH: "内容类型",
		Help: "For text messages, addresses are mobile numbers, kept as +8613800138000, and texts are counted in parts. " +
			"For anything, addresses are taken as they are.",
		HelpZH: "短信：地址必须是手机号，统一保存为 +8613800138000 的形式，并计算短信条数。任意内容：地址原样保存。",
	}, {
		Name: "region", Kind: channel.KindString, Default: "CN",
		Label: "Region of numbers", LabelZH: "号码所属地区",
		Help:   "Two letters: where a number without + belongs. For text messages only.",
		HelpZH: "两位地区代码：不带 + 的号码按该地区解析，仅用于短信。",
	}}
}

func check(c channel.Config) []posthouse.Problem {
	if region := c.String("region"); !phone.Known(region) {
		return []posthouse.Problem{{Path: "region", Message: fmt.Sprintf("is %q: want the two capital letters of a country, such as CN or HK", region)}}
	}
	return nil
}

// address is a mobile number in E.164.
func address(c channel.Config, text string) (string, error) {
	if c.String("content") != contentSMS {
		return text, nil
	}
	number, err := phone.Parse(text, c.String("region"))
	if err != nil {
		return "", err
	}
	if !number.Mobile {
		return "", fmt.Errorf("is no mobile number of %s: text messages do not arrive at it", cmp.Or(number.Region, "a country"))
	}
	return number.E164, nil
}

func open(c channel.Config, _ channel.Env) (channel.Driver, error) {
	if err := posthouse.Invalid("the pull driver cannot be opened", check(c)); err != nil {
		return nil, err
	}
	return driver{sms: c.String("content") == contentSMS}, nil
}

type driver struct{ sms bool }

// Send refuses: who calls it has taken the channel for one that is pushed. Nothing left.
func (driver) Send(context.Context, channel.Outgoing) channel.Result {
	return channel.Result{Class: posthouse.ClassAccount, Code: "PULLED", Error: "agents fetch what this channel sends: it is never sent from here"}
}

// Fit says what of a content a text message has no room for, and what it costs.
func (d driver) Fit(c posthouse.Content) []posthouse.Problem {
	if !d.sms {
		return nil
	}
	var problems []posthouse.Problem
	if c.Title != "" {
		problems = append(problems, posthouse.Problem{Path: "title", Message: "is not sent: a text message has none"})
	}
	if size := sms.Parts(c.Text); size.Parts > 1 {
		problems = append(problems, posthouse.Problem{Path: "text", Message: fmt.Sprintf(
			"goes out in %d parts, and each is charged: it has %d units of %s, one part takes %d", size.Parts, size.Units, size.Encoding.Title(), size.Encoding.Room())})
	}
	return problems
}
