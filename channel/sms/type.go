package sms

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/phone"
	"github.com/posthouse/posthouse/internal/sms"
)

// The providers.
const (
	aliyun  = "aliyun"
	tencent = "tencent"
)

// What the templates of a channel say. The providers allow fewer codes to one number than notices.
const (
	notices = "notices"
	codes   = "codes"
)

// The most numbers in one call.
const (
	aliyunBatch  = 1000 // SendSms, of one text
	tencentBatch = 200
	usualBatch   = 100
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name: "sms", Title: "SMS by Aliyun or Tencent Cloud", TitleZH: "短信（阿里云、腾讯云）",
		Doc:       "Sends text messages by templates of Aliyun or Tencent Cloud, and calls that read a text aloud by Aliyun.",
		DocZH:     "通过阿里云或腾讯云的短信模板发送短信；阿里云还可发送语音通知。",
		Fields:    fields(),
		MaxBatch:  aliyunBatch,
		BatchSize: func(c channel.Config) int { return c.Int("batch") },
		Shares:    func(c posthouse.Content, _ string) bool { return c.Kind() == posthouse.TextContent },
		Callbacks: true,
		Answers:   true,
		Receipts:  func(c channel.Config) bool { return c.Bool("receipts") },
		Calls:     func(c channel.Config) bool { return strings.HasPrefix(c.String("template_id"), spoken) },
		Timeout:   10 * time.Second,
		// Ours: the providers name 1,000 calls a second and more, and a carrier takes the messages at its own pace.
		AccountLimits:     []posthouse.Limit{{Max: 100, Per: posthouse.Duration(time.Second)}},
		RecipientLimitsOf: numberLimits,
		Check:             check,
		Addresses:         channel.AddressPhone,
		Address:           address,
		Content:           content,
		Open:              open,
	}
}

// numberLimits are what the providers allow for one number: help.aliyun.com, 44335 (by sign, and for notices by template too), and Tencent's
// default for all messages of an application, which its console changes.
func numberLimits(c channel.Config) []posthouse.Limit {
	day := posthouse.Duration(24 * time.Hour)
	switch {
	case c.String("provider") == tencent:
		return []posthouse.Limit{{Max: 10, Per: day}}
	case c.String("templates") == codes:
		return []posthouse.Limit{{Max: 1, Per: posthouse.Duration(time.Minute)}, {Max: 5, Per: posthouse.Duration(time.Hour)}, {Max: 10, Per: day}}
	}
	return []posthouse.Limit{{Max: 50, Per: day}}
}

func fields() []channel.Field {
	sending, calls := channel.Group{Label: "More of sending", LabelZH: "更多发送选项"}, channel.Group{Label: "Calls", LabelZH: "语音"}
	return []channel.Field{{
		Name: "provider", Kind: channel.KindChoice, Required: true, Choices: []channel.Choice{
			{Value: aliyun, Label: "Aliyun", LabelZH: "阿里云"},
			{Value: tencent, Label: "Tencent Cloud", LabelZH: "腾讯云"},
		}, Destination: true, Label: "Provider", LabelZH: "平台",
	}, {
		Name: "access_key", Kind: channel.KindString, Required: true, Account: true, Label: "Access key", LabelZH: "AccessKey ID / SecretId",
		Help: "Aliyun's AccessKey ID, Tencent's SecretId: of a user who may send messages and nothing else.", HelpZH: "阿里云 AccessKey ID 或腾讯云 SecretId，建议使用只有短信发送权限的子账号。",
	}, {
		Name: "secret", Kind: channel.KindSecret, Required: true, Account: true, Label: "Secret", LabelZH: "AccessKey Secret / SecretKey",
	}, {
		Name: "app_id", Kind: channel.KindString, Account: true, Label: "SdkAppId", LabelZH: "应用 SdkAppId",
		Help: "Of Tencent's application, such as 1400006666.", HelpZH: "腾讯云短信应用的 SdkAppId，例如 1400006666。",
	}, {
		Name: "sign", Kind: channel.KindString, Account: true, Label: "Sign", LabelZH: "短信签名",
		Help: "The approved name in 【】 before the text, without these marks.", HelpZH: "审核通过的签名内容，不含【】。",
	}, {
		Name: "template_id", Kind: channel.KindString, Label: "Template ID", LabelZH: "模板 ID",
		Help:   "Of messages whose template names none (external_template_id): SMS_… at Aliyun, or TTS_… for calls; a number at Tencent.",
		HelpZH: "用于模板未指定 external_template_id 的消息：阿里云形如 SMS_…（打电话为 TTS_…），腾讯云为数字。",
	}, {
		Name: "parameters", Kind: channel.KindList, Label: "Parameters in order", LabelZH: "参数顺序",
		Help:   "The names of a payload's members in the order of Tencent's {1}, {2}. Without it they are named 1, 2 and so on.",
		HelpZH: "按腾讯云模板 {1}、{2} 的顺序列出 payload 中的参数名；留空时 payload 直接以 1、2 命名。",
	}, {
		Name: "templates", Kind: channel.KindChoice, Default: notices, Choices: []channel.Choice{
			{Value: notices, Label: "Notices", LabelZH: "通知"},
			{Value: codes, Label: "Codes", LabelZH: "验证码"},
		}, Label: "What the templates say", LabelZH: "模板用途",
		Help:   "Decides how many messages a number gets at most by default, as the provider allows them: of codes fewer than of notices.",
		HelpZH: "决定默认的单号码频次上限：验证码比通知更严格，与平台规则一致。",
	}, {
		Name: "region", Kind: channel.KindString, Default: "CN", Label: "Country", LabelZH: "默认国家/地区",
		Help: "Of numbers without a country code, such as CN or HK.", HelpZH: "号码不带国家码时所属的国家或地区，例如 CN、HK。",
	}, {
		Name: "batch", Group: sending, Kind: channel.KindInt, Default: usualBatch, Min: 1, Max: aliyunBatch, Label: "Numbers in one call", LabelZH: "每次调用的号码数",
		Help: "Of messages that say the same. Tencent takes 200, Aliyun 1000.", HelpZH: "内容相同的号码合并调用；腾讯云最多 200，阿里云最多 1000。",
	}, {
		Name: "extend_code", Group: sending, Kind: channel.KindString, Label: "Extension of the sender's number", LabelZH: "扩展码",
		Help: "SmsUpExtendCode or ExtendCode, by which replies are told apart.", HelpZH: "上行短信扩展码，用于区分回复。",
	}, {
		Name: "sender_id", Group: sending, Kind: channel.KindString, Label: "Sender ID", LabelZH: "国际短信 SenderId",
		Help: "Of messages to other countries by Tencent.", HelpZH: "腾讯云国际短信的 SenderId。",
	}, {
		Name: "cloud_region", Group: sending, Kind: channel.KindString, Default: "ap-guangzhou", Label: "Tencent's region", LabelZH: "腾讯云地域",
	}, {
		Name: "receipts", Group: sending, Kind: channel.KindBool, Label: "Receipts are to come", LabelZH: "等待状态报告",
		Help:   "Set it once the provider pushes its reports to a callback address of the channel: a message is delivered only then.",
		HelpZH: "在平台把状态报告推送到本渠道回调地址之后开启：收到报告才算送达。",
	}, {
		Name: "voice_number", Group: calls, Kind: channel.KindString, Label: "Number that calls", LabelZH: "语音外呼号码",
		Help: "CalledShowNumber of Aliyun's calls. Leave it out for its shared numbers.", HelpZH: "阿里云语音的主叫显号；使用公共号池时留空。",
	}, {
		Name: "voice_url", Group: calls, Kind: channel.KindURL, Default: "https://dyvmsapi.aliyuncs.com", Label: "URL of calls", LabelZH: "语音接口地址",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Label: "URL", LabelZH: "短信接口地址",
		Help: "For a proxy or another region. Defaults to the provider's own.", HelpZH: "使用代理或其他地域时修改，默认为平台公网地址。",
	}}
}

// home is the interface of a configuration's provider.
func home(c channel.Config) (*url.URL, error) {
	usual := map[string]string{aliyun: "https://dysmsapi.aliyuncs.com", tencent: "https://sms.tencentcloudapi.com"}
	return root(cmp.Or(c.String("url"), usual[c.String("provider")]))
}

// root is a URL whose path is never empty, as it is signed.
func root(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil {
		u.Path, u.RawPath, u.RawQuery = strings.TrimSuffix(u.Path, "/")+"/", "", ""
	}
	return u, err
}

func check(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if !phone.Known(c.String("region")) {
		add("region", "is %q: want the two capital letters of a country, such as CN or HK", c.String("region"))
	}
	switch c.String("provider") {
	case tencent:
		if c.String("app_id") == "" {
			add("app_id", "is required for Tencent: the SdkAppId of the application")
		}
		if n := c.Int("batch"); n > tencentBatch {
			add("batch", "is %d: Tencent takes %d numbers in a call", n, tencentBatch)
		}
	case aliyun:
		if c.String("sign") == "" {
			add("sign", "is required for Aliyun: the approved name in 【】 before the text")
		}
		for _, name := range []string{"app_id", "sender_id"} {
			if c.Has(name) {
				add(name, "is Tencent's alone")
			}
		}
		if c.Has("parameters") {
			add("parameters", "is Tencent's alone: Aliyun's parameters have names")
		}
	}
	if !channel.ValidHeader("X", c.String("access_key")+c.String("cloud_region")) {
		add("access_key", "cannot be sent in a header")
	}
	return problems
}

// address is a mobile number in E.164.
func address(c channel.Config, text string) (string, error) {
	number, err := phone.Parse(text, c.String("region"))
	switch {
	case err != nil:
		return "", err
	case !number.Mobile:
		return "", fmt.Errorf("is no mobile number of %s: text messages do not arrive at it", cmp.Or(number.Region, "a country"))
	}
	return number.E164, nil
}

// content is a text, or a call that reads one aloud: a voice whose media is the id of a template of Aliyun's.
func content(c channel.Config, of posthouse.Content) []posthouse.Problem {
	if of.Kind() != posthouse.VoiceContent {
		if problems := channel.PlainText(of); len(problems) > 0 && problems[0].Path != "content.type" {
			return problems
		}
		return channel.Sends(of, posthouse.TextContent, posthouse.VoiceContent)
	}
	problem := func(path, message string) []posthouse.Problem {
		return []posthouse.Problem{{Path: path, Message: message}}
	}
	switch {
	case c.String("provider") != aliyun:
		return problem("content.type", "is voice: only Aliyun calls")
	case len(of.Media) != 1 || of.Media[0].ID == "":
		return problem("content.media", "want the id of a template of Aliyun's that is read aloud, such as TTS_10001, or of a file that was uploaded there")
	case len(of.Mentions) > 0 || of.MentionAll || len(of.Extra) > 0:
		return problem("content.extra", "cannot be sent with a call")
	}
	return nil
}

// Fit says what a text message has no room for, and what it costs: what a recipient reads is the provider's template, which the text is
// taken for here.
func (d *driver) Fit(c posthouse.Content) []posthouse.Problem {
	var problems []posthouse.Problem
	if c.Title != "" {
		problems = append(problems, posthouse.Problem{Path: "title", Message: "is not sent: a text message has none"})
	}
	if size := sms.Parts("【" + d.sign + "】" + c.Text); size.Parts > 1 && c.Kind() == posthouse.TextContent {
		problems = append(problems, posthouse.Problem{Path: "text", Message: fmt.Sprintf("goes out in %d parts, and each is charged: with the sign it has %d units of %s, one part takes %d",
			size.Parts, size.Units, size.Encoding.Title(), size.Encoding.Room())})
	}
	return problems
}

var errNoPayload = errors.New("the payload is not a JSON object, so it has no parameters")
