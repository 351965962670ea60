package feishu

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// An application makes 1,000 calls a minute and 50 a second, here with room left for its other programs; a person or a chat gets five
// messages a second.
const (
	callsPerMinute     = 950
	callsPerSecond     = 45
	perRecipientSecond = 5
	// mostTogether is how many people one call of the batch interface reaches.
	mostTogether = 200
	// remembers is how long Feishu knows a message again by its uuid.
	remembers = time.Hour
	textBytes = 150 << 10
	cardBytes = 30 << 10
	// longestID is longer than any id of Feishu's, in bytes.
	longestID = 128
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name: "feishu", Title: "Feishu application", TitleZH: "飞书应用消息",
		Doc:       "Sends texts, cards, pictures and files of an application to people and chats of Feishu or Lark.",
		DocZH:     "以飞书（Lark）自建应用的名义，向用户或群发送文本、卡片、图片和文件。",
		Fields:    fields(),
		MaxBatch:  mostTogether,
		BatchSize: func(c channel.Config) int { return c.Int("batch") },
		Shares:    func(c posthouse.Content, address string) bool { return together(c, address) },
		IdempotencyWindow: func(c channel.Config) time.Duration {
			if c.Int("batch") > 1 {
				return 0 // the batch interface knows nothing again
			}
			return remembers
		},
		Timeout:         10 * time.Second,
		AccountLimits:   []posthouse.Limit{{Max: callsPerSecond, Per: posthouse.Duration(time.Second)}, {Max: callsPerMinute, Per: posthouse.Duration(time.Minute)}},
		RecipientLimits: []posthouse.Limit{{Max: perRecipientSecond, Per: posthouse.Duration(time.Second)}},
		Callbacks:       true,
		Presser:         presser,
		Check:           check,
		Addresses:       channel.AddressUser,
		Address:         address,
		Content:         content,
		Open:            open,
	}
}

func fields() []channel.Field {
	return []channel.Field{{
		Name: "app_id", Kind: channel.KindString, Required: true, Account: true, Label: "App ID", LabelZH: "App ID",
	}, {
		Name: "app_secret", Kind: channel.KindSecret, Required: true, Account: true, Label: "App Secret", LabelZH: "App Secret",
	}, {
		Name: "format", Kind: channel.KindChoice, Default: "text", Choices: channel.TextOrMarkdown(), Label: "Format", LabelZH: "默认消息格式",
		Help:   "Of contents that name no type. Markdown goes out as a card.",
		HelpZH: "用于未指明 type 的内容；markdown 以卡片形式发送。",
	}, {
		Name: "batch", Kind: channel.KindInt, Default: 1, Min: 1, Max: mostTogether, Label: "People in one call", LabelZH: "每次调用的人数",
		Help:   "Of messages that say the same. With 1 Feishu recognises a repeated message for an hour; with more it does not, and takes them for later.",
		HelpZH: "内容相同的消息合并调用。设为 1 时飞书可在一小时内识别重复消息；大于 1 时使用批量接口：异步发送，且不识别重复。",
	}, {
		Name: "encrypt_key", Kind: channel.KindSecret, Label: "Encrypt key", LabelZH: "Encrypt Key",
		Help:   "Of the application's events and callbacks. What is pressed on cards is told only with it: it signs them.",
		HelpZH: "应用“事件与回调”中的加密策略。卡片按钮回调须配置它：签名以它校验。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: "https://open.feishu.cn", Label: "URL", LabelZH: "接口地址",
		Help: "Lark has https://open.larksuite.com.", HelpZH: "Lark 国际版为 https://open.larksuite.com。",
	}}
}

func check(c channel.Config) []posthouse.Problem {
	if !channel.ValidHeader("X", c.String("app_id")) || strings.ContainsAny(c.String("app_id"), "/ ") {
		return []posthouse.Problem{{Path: "app_id", Message: "is no id of an application, such as cli_a1b2c3d4e5f6a7b8"}}
	}
	return nil
}

// idKind is what an address is: the receive_id_type of Feishu's.
func idKind(address string) string {
	switch {
	case strings.HasPrefix(address, "ou_"):
		return "open_id"
	case strings.HasPrefix(address, "on_"):
		return "union_id"
	case strings.HasPrefix(address, "oc_"):
		return "chat_id"
	case strings.Contains(address, "@"):
		return "email"
	}
	return "user_id"
}

// address is an id of a person or a chat, or a person's mail address.
func address(_ channel.Config, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", errors.New("is empty: want a user id, ou_…, on_…, oc_… or a mail address")
	case len(text) > longestID:
		return "", fmt.Errorf("has %d bytes: an id of Feishu's has at most %d", len(text), longestID)
	case strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' }):
		return "", errors.New("holds characters that no id of Feishu's has")
	case idKind(text) == "email":
		return strings.ToLower(text), nil
	}
	return text, nil
}

// together reports whether a content to an address may share a call of the batch interface, which reaches people and no chats.
func together(c posthouse.Content, address string) bool {
	switch idKind(address) {
	case "chat_id", "email":
		return false
	}
	return c.Kind() != posthouse.FileContent
}

// types are what is sent.
func types() []posthouse.ContentType {
	return []posthouse.ContentType{posthouse.TextContent, posthouse.MarkdownContent, posthouse.ImageContent, posthouse.FileContent, posthouse.CardContent, posthouse.TemplateContent}
}

func content(c channel.Config, of posthouse.Content) []posthouse.Problem {
	if problems := channel.Sends(of, types()...); len(problems) > 0 {
		return problems
	}
	problem := func(path, format string, args ...any) []posthouse.Problem {
		return []posthouse.Problem{{Path: "content." + path, Message: fmt.Sprintf(format, args...)}}
	}
	kind := kindOf(of, posthouse.ContentType(c.String("format")))
	switch {
	case kind.HasMedia() && len(of.Media) != 1:
		return problem("media", "want one file")
	case (len(of.Mentions) > 0 || of.MentionAll) && kind != posthouse.TextContent && kind != posthouse.MarkdownContent:
		return problem("mentions", "cannot be sent with type %s", kind)
	case len(of.Extra) > 0 && kind != posthouse.CardContent && kind != posthouse.TemplateContent:
		return problem("extra", "cannot be sent with type %s", kind)
	}
	if rules := mediaRules(); kind.HasMedia() {
		return rules.Check(of, kind, rules.Most[kind])
	}
	message, err := made(of, kind)
	if err != nil {
		return problem("extra", "%s", err)
	}
	most := cardBytes
	if kind == posthouse.TextContent {
		most = textBytes
	}
	if len(message.content) > most {
		return problem("text", "makes a message of %d bytes: Feishu takes %d", len(message.content), most)
	}
	return nil
}

// kindOf is a content's type, or the channel's where it names none.
func kindOf(c posthouse.Content, usual posthouse.ContentType) posthouse.ContentType {
	if c.Type == "" && usual != "" {
		return usual
	}
	return c.Kind()
}

// isObject reports whether a text is a JSON object.
func isObject(text json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(text, &members) == nil
}
