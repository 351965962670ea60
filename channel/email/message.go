package email

import (
	"bytes"
	"context"
	"fmt"
	"net/mail"
	"net/url"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// markdown makes HTML of Markdown. HTML within it is left out.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// codeMedia is our own code of a file that could not be read.
const codeMedia = "MEDIA_ERROR"

// letter is a mail that is ready to leave.
type letter struct {
	id   string // its Message-ID, without brackets: the same over all attempts
	to   string
	text []byte
}

// compose writes the mail of a delivery. The result has a class where it cannot be written.
func (d *driver) compose(ctx context.Context, out channel.Outgoing) (letter, channel.Result) {
	refuse := func(class posthouse.Class, code, format string, args ...any) (letter, channel.Result) {
		return letter{}, channel.Result{Class: class, Code: code, Error: d.stream.Redactor().Line(fmt.Sprintf(format, args...), 512)}
	}
	_, domain, _ := strings.Cut(d.from.Address, "@")
	l := letter{id: out.IdemKey + "@" + domain, to: out.Recipient.Address}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	m.FromMailAddress(d.from)
	m.ToMailAddress(&mail.Address{Address: l.to})
	if d.replyTo != nil {
		m.ReplyToMailAddress(d.replyTo)
	}
	m.Subject(out.Content.Title)
	m.SetMessageIDWithValue(l.id)
	m.SetDate()
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no vacation notes in return
	if err := d.listed(m, l.to); err != nil {
		return refuse(posthouse.ClassRequest, channel.CodeRequest, "%v", err)
	}
	if err := body(m, out.Content); err != nil {
		return refuse(posthouse.ClassContent, channel.CodeRequest, "%v", err)
	}
	for _, media := range out.Content.Media {
		if d.files == nil {
			return refuse(posthouse.ClassContent, codeMedia, "content.media[0].upload: there are no files here")
		}
		f, err := d.files.File(ctx, media.Upload)
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeNotFound:
			return refuse(posthouse.ClassContent, codeMedia, "content.media[0].upload: %v", err)
		case err != nil:
			return refuse(posthouse.ClassTransient, codeMedia, "the file could not be read: %v", err)
		}
		m.AttachReadSeeker(f.Name, bytes.NewReader(f.Body), gomail.WithFileContentType(gomail.ContentType(f.Type)))
	}
	if d.dkim != nil {
		m.SetDKIM(d.dkim)
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		return refuse(posthouse.ClassRequest, channel.CodeRequest, "the mail could not be written: %v", err)
	}
	l.text = b.Bytes()
	return l, channel.Result{}
}

// body is the text, and beside it the HTML where there is some.
func body(m *gomail.Msg, c posthouse.Content) error {
	e, err := extraOf(c.Extra)
	if err != nil {
		return fmt.Errorf("content.extra: %w", err)
	}
	if e.HTML == "" && c.Kind() == posthouse.MarkdownContent {
		var b strings.Builder
		if err := markdown.Convert([]byte(c.Text), &b); err != nil {
			return fmt.Errorf("content.text: %w", err)
		}
		e.HTML = b.String()
	}
	m.SetBodyString(gomail.TypeTextPlain, c.Text)
	if e.HTML != "" {
		m.AddAlternativeString(gomail.TypeTextHTML, e.HTML)
	}
	return nil
}

// listed says how to unsubscribe: by mail, and with one click by RFC 8058.
func (d *driver) listed(m *gomail.Msg, to string) error {
	var by []string
	if d.unsubscribe != "" {
		by = append(by, "mailto:"+d.unsubscribe+"?subject=unsubscribe")
	}
	if d.callback == nil {
		if len(by) > 0 {
			m.SetListUnsubscribe(by...)
		}
		return nil
	}
	u := *d.callback
	q := u.Query()
	q.Set("to", to)
	q.Set("sum", sum(d.token, to))
	u.RawQuery = q.Encode()
	if u.Scheme != "https" {
		m.SetListUnsubscribe(append([]string{u.String()}, by...)...) // the one click is for https alone
		return nil
	}
	return m.SetListUnsubscribeOneClick(u.String(), by...)
}

func parsed(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return nil
	}
	return u
}
