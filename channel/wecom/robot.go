package wecom

import (
	"context"
	"crypto/md5" //nolint:gosec // WeCom wants it beside a picture, to see that it arrived whole
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/channel/internal/files"
)

// The limits of a robot: 20 posts a minute, pictures of 2 MiB. How many people one post may mention is not documented;
// 100 is ours.
const (
	robotPerMinute = 18 // of 20, since windows of theirs and ours are not the same
	// late is how much later a call may reach WeCom than it was permitted. All that go late in one window and all that go at once in
	// the next would be within one of WeCom's.
	late          = time.Second
	robotMentions = 100
	robotImage    = 2 << 20
)

// Robot describes the driver for a group's robot.
func Robot() channel.Type {
	return channel.Type{
		Name:  "wecom_robot",
		Title: "WeCom robot", TitleZH: "企业微信群机器人",
		Doc:           "Posts to a group through its robot, and mentions the recipients.",
		DocZH:         "通过群机器人（消息推送）向企业微信群发送消息，并 @ 收件人。",
		Fields:        robotFields(),
		MaxBatch:      robotMentions,
		BatchSize:     func(c channel.Config) int { return c.Int("mentions") },
		Timeout:       10 * time.Second,
		AccountLimits: []posthouse.Limit{{Max: robotPerMinute, Per: posthouse.Duration(time.Minute + late)}},
		Address:       robotAddress,
		Content:       robotContent,
		Everyone:      wholeGroup,
		Open:          openRobot,
	}
}

func robotFields() []channel.Field {
	return []channel.Field{{
		Name: "key", Kind: channel.KindSecret, Required: true, Account: true, Label: "Key", LabelZH: "Webhook key",
		Help: "What follows key= in the robot's webhook address.", HelpZH: "机器人 Webhook 地址中 key= 之后的部分。",
	}, {
		Name: "format", Kind: channel.KindChoice, Default: "text", Choices: channel.TextOrMarkdown(), Label: "Format", LabelZH: "默认消息格式",
		Help: "Of contents that name no type.", HelpZH: "用于未指明 type 的内容。",
	}, {
		Name: "mention", Kind: channel.KindChoice, Default: "recipients", Choices: []channel.Choice{
			{Value: "recipients", Label: "The recipients", LabelZH: "@ 收件人"},
			{Value: "all", Label: "Everybody in the group", LabelZH: "@ 所有人"},
			{Value: "none", Label: "Nobody", LabelZH: "不 @"},
		}, Label: "Mention", LabelZH: "提醒方式",
		Help:   "Of recipients, an address of 11 digits, or one that begins with +, is a phone number, any other a user id; Markdown mentions user ids only.",
		HelpZH: "@ 收件人时，11 位数字或以 + 开头的地址按手机号，其余按 userid；Markdown 只能按 userid 提醒。",
	}, {
		Name: "mentions", Kind: channel.KindInt, Default: 1, Min: 1, Max: robotMentions, Label: "Recipients in one post", LabelZH: "每条消息的收件人数",
		Help: "Above 1 the recipients of a message share posts.", HelpZH: "大于 1 时，同一消息的多个收件人合并为一条群消息。",
	}, {
		Name: "url", Group: channel.OwnInstallation(), Kind: channel.KindURL, Default: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send", Label: "URL", LabelZH: "接口地址",
		Help: "For a private installation or a proxy.", HelpZH: "私有部署或代理时修改。",
	}}
}

func robotContent(c channel.Config, content posthouse.Content) []posthouse.Problem {
	problems := channel.Sends(content, posthouse.TextContent, posthouse.MarkdownContent, posthouse.ImageContent, posthouse.FileContent,
		posthouse.VoiceContent, posthouse.NewsContent, posthouse.TemplateContent)
	kind := kindOf(content, posthouse.ContentType(c.String("format")))
	switch {
	case kind == posthouse.MarkdownContent && content.MentionAll:
		problems = append(problems, posthouse.Problem{Path: "content.mention_all", Message: "cannot be sent: Markdown of a robot mentions user ids only"})
	case kind != posthouse.TextContent && kind != posthouse.MarkdownContent:
		problems = append(problems, mentionless(content, "cannot be sent: a robot mentions people in texts and Markdown only")...)
	case kind == posthouse.TextContent || kind == posthouse.MarkdownContent:
		problems = append(problems, checkNames(content.Mentions, kind)...)
	}
	if kind == posthouse.ImageContent && len(content.Media) > 0 && content.Media[0].ID != "" {
		problems = append(problems, posthouse.Problem{Path: "content.media[0].id", Message: "cannot be sent: a robot takes pictures by url or upload"})
	}
	most := mediaRules().Most[kind]
	if kind == posthouse.ImageContent {
		most = robotImage
	}
	problems = append(append(problems, checkFile(content, kind, most)...), checkExtra(content, kind)...)
	return append(problems, checkWords(content, kind, ofRobot())...)
}

// checkNames refuses names that a post cannot call.
func checkNames(names []string, kind posthouse.ContentType) (problems []posthouse.Problem) {
	refuse := func(i int, why string) {
		problems = append(problems, posthouse.Problem{Path: fmt.Sprintf("content.mentions[%d]", i), Message: why})
	}
	if n := len(names); n > robotMentions {
		return []posthouse.Problem{{Path: "content.mentions", Message: fmt.Sprintf("has %d names: at most %d are sent", n, robotMentions)}}
	}
	for i, name := range names {
		switch {
		case strings.ContainsAny(name, "<>\r\n"):
			refuse(i, "holds a < or > or a line break: that is no user id of WeCom's, and no phone number")
		case kind == posthouse.MarkdownContent && (channel.IsEverybody(name) || channel.IsEverybody("@"+name)):
			refuse(i, "cannot be sent: Markdown of a robot mentions user ids only")
		}
	}
	return problems
}

// robotAddress is a user id, which has no case in WeCom, or a phone number.
func robotAddress(c channel.Config, text string) (string, error) {
	switch {
	case channel.IsEverybody(text):
		return everyone, nil
	case c.String("mention") == "recipients" && strings.ContainsAny(text, "<>\r\n"):
		return "", errors.New("holds a < or > or a line break: that is no user id of WeCom's, and no phone number")
	case batch.IsPhone(batch.Phone(text)):
		return batch.Phone(text), nil
	}
	return strings.ToLower(text), nil
}

// wholeGroup says what calls everybody once it stands behind the @ that Markdown has before each name.
func wholeGroup(c channel.Config, out channel.Outgoing) string {
	if c.String("mention") == "recipients" && channel.IsEverybody("@"+out.Recipient.Address) {
		return "address"
	}
	for i, name := range out.Content.Mentions {
		if channel.IsEverybody("@" + name) {
			return fmt.Sprintf("content.mentions[%d]", i)
		}
	}
	return ""
}

type robot struct {
	client   *channel.Client
	send     *url.URL
	uploadTo *url.URL
	header   http.Header
	format   posthouse.ContentType
	mention  string
	codes    map[string]posthouse.Class
	library  *files.Library
	patience patience
}

func openRobot(c channel.Config, env channel.Env) (channel.Driver, error) {
	target, err := url.Parse(c.String("url"))
	if err != nil {
		return nil, err
	}
	key := c.String("key")
	query := target.Query()
	query.Set("key", key)
	target.RawQuery = query.Encode()
	upload := *target
	upload.Path = strings.TrimSuffix(upload.Path, "/send") + "/upload_media"
	upload.RawQuery = query.Encode()
	r := &robot{
		send: target, uploadTo: &upload, header: http.Header{"Content-Type": {"application/json"}}, format: posthouse.ContentType(c.String("format")),
		mention: c.String("mention"), codes: env.Codes,
		client: channel.NewClient(env, channel.ClientOptions{Secrets: []string{key}}),
	}
	r.library = files.New(env, strings.Join([]string{env.Tenant, env.Channel, env.Account, "media"}, "/"), mediaRules(), r.upload)
	return r, nil
}

// Close closes the idle connections.
func (r *robot) Close() error { return errors.Join(r.client.Close(), r.library.Close()) }

// Fit says whether a post would be too long.
func (r *robot) Fit(c posthouse.Content) []posthouse.Problem {
	problems := checkWords(c, kindOf(c, r.format), ofRobot())
	for i := range problems {
		problems[i].Path = strings.TrimPrefix(problems[i].Path, "content.")
	}
	return problems
}

// Send posts one delivery.
func (r *robot) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return r.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch makes one post for all. Those who are mentioned by phone number come first in it.
func (r *robot) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	sorted := batch.PhonesFirst(outs)
	result, stale := r.tell(ctx, sorted, "")
	if stale != "" { // nobody was told: the file is uploaded anew
		result, _ = r.tell(ctx, sorted, stale)
	}
	return slices.Repeat([]channel.Result{result}, len(outs))
}

// tell makes one post. stale is the id of a file that WeCom has refused; the one that is returned, that of the file that it
// has refused now.
func (r *robot) tell(ctx context.Context, sorted []channel.Outgoing, stale string) (result channel.Result, refused string) {
	post, file, err := r.post(ctx, sorted, stale)
	if err != nil {
		return files.FailedBy(err, r.client), ""
	}
	reply := r.client.Do(ctx, channel.Request{URL: r.send, Header: batch.WithKeys(r.header, sorted), Body: withExtra(errcode.Encoded(post), sorted[0].Content, kindOf(sorted[0].Content, r.format))})
	v, _ := read(&reply, robotCodes, r.codes)
	r.patience.wait(&v, time.Now())
	if v.Class == posthouse.ClassAuth { // a robot has no token: there is nothing to fetch anew
		v.Class = posthouse.ClassAccount
	}
	if again(sorted[0].Content, v) {
		refused = file
	}
	return reply.Result(v), refused
}

// robotPost is the body of a call.
type robotPost struct {
	Type     string          `json:"msgtype"`
	Text     *robotText      `json:"text,omitempty"`
	Markdown *words          `json:"markdown,omitempty"`
	Image    *picture        `json:"image,omitempty"`
	File     *media          `json:"file,omitempty"`
	Voice    *media          `json:"voice,omitempty"`
	News     json.RawMessage `json:"news,omitempty"`
	Template json.RawMessage `json:"template_card,omitempty"`
}

type robotText struct {
	Content string   `json:"content"`
	Users   []string `json:"mentioned_list,omitempty"`
	Phones  []string `json:"mentioned_mobile_list,omitempty"`
}

type picture struct {
	Bytes string `json:"base64"`
	Sum   string `json:"md5"`
}

// post is the body of a call, and the id of the file in it. stale is one that WeCom has refused.
func (r *robot) post(ctx context.Context, outs []channel.Outgoing, stale string) (p robotPost, id string, err error) {
	c := outs[0].Content
	kind := kindOf(c, r.format)
	p = robotPost{Type: string(kind)}
	switch kind {
	case posthouse.MarkdownContent:
		p.Markdown = &words{r.markdown(c, outs)}
	case posthouse.ImageContent:
		file, err := r.library.File(ctx, kind, c.Media[0], robotImage)
		if err != nil {
			return p, "", err
		}
		sum := md5.Sum(file.Body) //nolint:gosec // as above
		p.Image = &picture{base64.StdEncoding.EncodeToString(file.Body), hex.EncodeToString(sum[:])}
	case posthouse.FileContent, posthouse.VoiceContent:
		if id, err = r.library.ID(ctx, kind, c.Media[0], stale); err != nil {
			return p, "", err
		}
		if p.File = &(media{ID: id}); kind == posthouse.VoiceContent {
			p.File, p.Voice = nil, p.File
		}
	case posthouse.NewsContent:
		p.News = c.Extra
	case posthouse.TemplateContent:
		p.Type, p.Template = "template_card", c.Extra
	default:
		users, phones := r.mentioned(c, outs)
		p.Text = &robotText{plainText(c), users, phones}
	}
	return p, id, nil
}

// markdown has the mentions in its text: there is no other place for them.
func (r *robot) markdown(c posthouse.Content, outs []channel.Outgoing) string {
	users, _ := r.mentioned(c, outs)
	var b strings.Builder
	b.WriteString(markdown(c))
	for i, user := range users {
		if user == everyone {
			continue
		}
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString("<@" + user + ">")
	}
	return b.String()
}

// mentioned are those whom a post calls by name: the recipients, by the channel's setting, and the content's own.
func (r *robot) mentioned(c posthouse.Content, outs []channel.Outgoing) (users, phones []string) {
	add := func(name string) {
		if channel.IsEverybody(name) || channel.IsEverybody("@"+name) {
			name = everyone
		}
		switch {
		case name == "" || slices.Contains(users, name) || slices.Contains(phones, name):
		case batch.IsPhone(name):
			phones = append(phones, name)
		default:
			users = append(users, name)
		}
	}
	if r.mention == "recipients" {
		for _, address := range batch.Addresses(outs) {
			add(address)
		}
	}
	for _, name := range c.Mentions {
		add(name)
	}
	if r.mention == "all" || c.MentionAll {
		add(everyone)
	}
	return users, phones
}

func (r *robot) upload(ctx context.Context, kind posthouse.ContentType, file *files.File) (string, time.Duration, error) {
	form, body, err := file.Form("media")
	if err != nil {
		return "", 0, err
	}
	u := *r.uploadTo
	query := u.Query()
	query.Set("type", string(kind))
	u.RawQuery = query.Encode()
	reply := r.client.Do(ctx, channel.Request{URL: &u, Header: http.Header{"Content-Type": {form}}, Body: body})
	v, answer := read(&reply, robotCodes, r.codes)
	return files.Uploaded(&reply, v, answer.Media, mediaLasts)
}
