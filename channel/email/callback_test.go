package email_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

const secret = "a token of 16 or more"

func TestOneClickUnsubscribes(t *testing.T) {
	p := open(t, options{})
	d := driver(t, p.config(map[string]any{"callback_url": "https://push.example.com/v1/callbacks/abc", "callback_token": secret, "unsubscribe": "leave@example.com"}))
	ok(t, d.Send(t.Context(), outgoing(1, posthouse.Content{})))
	m := read(t, p.taken()[0])
	if got := m.Header.Get("List-Unsubscribe-Post"); got != "List-Unsubscribe=One-Click" {
		t.Errorf("List-Unsubscribe-Post: %q", got)
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(m.Header.Get("List-Unsubscribe"), "<"), ">")
	u, err := url.Parse(link)
	if err != nil || u.Host != "push.example.com" {
		t.Fatalf("%q, %v", link, err)
	}
	r := d.(channel.Receiver)
	heard, err := r.Receive(channel.Callback{Method: http.MethodPost, Query: u.Query(), Body: []byte("List-Unsubscribe=One-Click")})
	if err != nil || len(heard.Consents) != 1 || heard.Consents[0] != (channel.Consent{Address: "li.na@example.org", Reason: "unsubscribed"}) {
		t.Errorf("%+v, %v", heard, err)
	}
	if heard, err = r.Receive(channel.Callback{Method: http.MethodGet, Query: u.Query()}); err != nil || len(heard.Consents) != 0 {
		t.Errorf("a look unsubscribes: %+v, %v", heard, err)
	}
	for method, want := range map[string]string{http.MethodPost: "今后您不会再收到此类邮件", http.MethodGet: "即可退订"} {
		if heard, err := r.Receive(channel.Callback{Method: method, Query: u.Query()}); err != nil || !strings.Contains(heard.Answer, "no more of this mail. ") || !strings.Contains(heard.Answer, want) {
			t.Errorf("%s is answered with %q, %v: want both languages", method, heard.Answer, err)
		}
	}
	renewed := p.config(map[string]any{"callback_url": "https://push.example.com/v1/callbacks/abc", "callback_token": secret + " anew", "old_callback_token": secret})
	if heard, err := driver(t, renewed).(channel.Receiver).Receive(channel.Callback{Method: http.MethodPost, Query: u.Query()}); err != nil || len(heard.Consents) != 1 {
		t.Errorf("a link of the token before: %+v, %v", heard, err)
	}
	bearer := http.Header{"Authorization": {"Bearer " + secret}}
	if _, err := driver(t, renewed).(channel.Receiver).Receive(channel.Callback{Method: http.MethodPost, Header: bearer, Body: []byte(bounce)}); !errors.Is(err, channel.ErrForged) {
		t.Errorf("a bounce by the token before is taken: %v", err)
	}
	other := u.Query()
	other.Set("to", "zhang.wei@example.org")
	if _, err := r.Receive(channel.Callback{Method: http.MethodPost, Query: other}); !errors.Is(err, channel.ErrForged) {
		t.Errorf("a link for somebody else is taken: %v", err)
	}
}

// bounce is a report as a mail server writes it.
const bounce = "From: MAILER-DAEMON@mail.example.com\r\nTo: desk@example.com\r\nSubject: Undelivered Mail Returned to Sender\r\nMIME-Version: 1.0\r\n" +
	"Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary=\"4Q1.1/mail.example.com\"\r\n\r\n" +
	"--4Q1.1/mail.example.com\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\nI'm sorry to have to inform you that your message could not be delivered.\r\n\r\n" +
	"--4Q1.1/mail.example.com\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mail.example.com\r\nArrival-Date: Fri, 27 Nov 2026 10:00:00 +0800 (CST)\r\n\r\n" +
	"Final-Recipient: rfc822; li.na@example.org\r\nOriginal-Recipient: rfc822;Li.Na@Example.org\r\nAction: ACTION\r\nStatus: STATUS\r\nDiagnostic-Code: smtp; 550 5.1.1 <li.na@example.org>:\r\n    Recipient address rejected: User unknown\r\n\r\n" +
	"--4Q1.1/mail.example.com\r\nContent-Type: message/rfc822\r\n\r\nFrom: desk@example.com\r\nMessage-ID: <01M8TEST@example.com>\r\nSubject: x\r\n\r\ntext\r\n\r\n--4Q1.1/mail.example.com--\r\n"

func TestABounceIsAReceipt(t *testing.T) {
	p := open(t, options{})
	r := driver(t, p.config(map[string]any{"callback_token": secret})).(channel.Receiver)
	receive := func(action, status string) channel.Heard {
		t.Helper()
		body := strings.NewReplacer("ACTION", action, "STATUS", status).Replace(bounce)
		heard, err := r.Receive(channel.Callback{Method: http.MethodPost, Header: http.Header{"Authorization": {"Bearer " + secret}}, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		return heard
	}
	heard := receive("failed", "5.1.1")
	want := channel.Report{Ref: "01M8TEST@example.com", Receipt: channel.Receipt{Known: true, Code: "5.1.1", Error: "550 5.1.1 <li.na@example.org>: Recipient address rejected: User unknown"}}
	if len(heard.Reports) != 1 || heard.Reports[0] != want {
		t.Errorf("%+v, want %+v", heard.Reports, want)
	}
	if len(heard.Consents) != 1 || heard.Consents[0] != (channel.Consent{Address: "Li.Na@example.org", Reason: "bounced 5.1.1"}) {
		t.Errorf("%+v", heard.Consents)
	}
	if heard = receive("failed", "4.4.7"); len(heard.Reports) != 1 || heard.Reports[0].Delivered || len(heard.Consents) != 0 {
		t.Errorf("a mail that could not be delivered for days: %+v", heard)
	}
	if heard = receive("delayed", "4.4.1"); len(heard.Reports) != 0 || len(heard.Consents) != 0 {
		t.Errorf("a mail that is late: %+v", heard)
	}
	if heard = receive("delivered", "2.0.0"); len(heard.Reports) != 1 || !heard.Reports[0].Delivered {
		t.Errorf("a mail that was delivered: %+v", heard)
	}
}

func TestWhoPostsABounceShowsTheToken(t *testing.T) {
	p := open(t, options{})
	r := driver(t, p.config(map[string]any{"callback_token": secret})).(channel.Receiver)
	for name, c := range map[string]channel.Callback{
		"none":       {Method: http.MethodPost, Body: []byte(bounce)},
		"wrong":      {Method: http.MethodPost, Body: []byte(bounce), Header: http.Header{"Authorization": {"Bearer x"}}},
		"no report":  {Method: http.MethodPost, Body: []byte("Subject: hello\r\n\r\nhello"), Header: http.Header{"Authorization": {"Bearer " + secret}}},
		"a look":     {Method: http.MethodGet, Header: http.Header{"Authorization": {"Bearer " + secret}}},
		"cut report": {Method: http.MethodPost, Body: []byte(bounce[:400]), Header: http.Header{"Authorization": {"Bearer " + secret}}},
	} {
		if heard, err := r.Receive(c); !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: %+v, %v", name, heard, err)
		}
	}
	without := driver(t, p.config(nil)).(channel.Receiver)
	if _, err := without.Receive(channel.Callback{Method: http.MethodPost, Header: http.Header{"Authorization": {"Bearer "}}, Body: []byte(bounce)}); !errors.Is(err, channel.ErrForged) {
		t.Errorf("without a token: %v", err)
	}
}

// answer is a mail to which a person answered, of a program that may say so.
func answer(more string) string {
	return "From: \"Li Na\" <Li.Na@Example.org>\r\nDate: Fri, 27 Nov 2026 10:00:00 +0800\r\nMessage-ID: <7@example.org>\r\nIn-Reply-To: <01KXZ6J0Q3H8VY6T4M2B9N0001@example.com>\r\n" + more + "\r\nI have it."
}

func TestAnAnswerIsRead(t *testing.T) {
	p := open(t, options{})
	r := driver(t, p.config(map[string]any{"callback_token": secret})).(channel.Receiver)
	receive := func(body string) (channel.Heard, error) {
		return r.Receive(channel.Callback{Method: http.MethodPost, Header: http.Header{"Authorization": {"Bearer " + secret}}, Body: []byte(body)})
	}
	want := channel.Inbound{
		Way: channel.InboundMail, IdemKey: "01KXZ6J0Q3H8VY6T4M2B9N0001", Address: "Li.Na@example.org", Text: "答复: 磁盘", ID: "7@example.org", At: time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC),
	}
	heard, err := receive(answer("Subject: =?utf-8?B?562U5aSNOiDno4Hnm5g=?=\r\nAuto-Submitted: no\r\n"))
	if err != nil || len(heard.Inbound) != 1 || heard.Inbound[0] != want {
		t.Errorf("got %+v, %v; want %+v", heard, err, want)
	}
	if heard, err = receive("From li.na@example.org  Fri Nov 27 10:00:00 2026\r\nReturn-Path: <li.na@example.org>\r\n" + answer("")); err != nil || len(heard.Inbound) != 1 || heard.Inbound[0].Automatic {
		t.Errorf("as Postfix hands it to a command: %+v, %v", heard, err)
	}
	threads := strings.Replace(answer("References: <01KXZ6J0Q3H8VY6T4M2B9N0001@example.com>\r\n <01KXZ6J0Q3H8VY6T4M2B9P0001@example.com> <8@example.org>\r\n"), "In-Reply-To", "X", 1)
	if heard, err = receive(threads); err != nil || len(heard.Inbound) != 1 || heard.Inbound[0].IdemKey != "01KXZ6J0Q3H8VY6T4M2B9P0001" {
		t.Errorf("by its references: %+v, %v", heard, err)
	}
	for _, more := range []string{
		"Auto-Submitted: auto-replied; owner-email=\"li.na@example.org\"\r\n", "Auto-Submitted: auto-generated\r\n", "Precedence: Bulk\r\n", "Precedence: auto_reply\r\n", "Return-Path: <>\r\n", "X-Autoreply: yes\r\n",
		"List-Id: <team.example.org>\r\n", "Subject: Automatic reply: Disk full\r\n", "Subject: Out of Office: Disk full\r\n", "Subject: =?utf-8?B?6Ieq5Yqo5Zue5aSNOiDno4Hnm5g=?=\r\n",
		"Content-Type: multipart/report; report-type=disposition-notification; boundary=x\r\n",
	} {
		if heard, err = receive(answer(more)); err != nil || len(heard.Inbound) != 1 || !heard.Inbound[0].Automatic {
			t.Errorf("%q is a person's: %+v, %v", more, heard, err)
		}
	}
	for name, body := range map[string]string{
		"of nothing": strings.Replace(answer(""), "In-Reply-To", "X", 1), "of another's mail": strings.Replace(answer(""), "01KXZ6J0Q3H8VY6T4M2B9N0001", "7", 1),
		"of nobody": strings.Replace(answer(""), "From", "X", 1), "of several": strings.Replace(answer(""), "<Li.Na@Example.org>", "<a@example.org>, b@example.org", 1),
	} {
		if heard, err := receive(body); !errors.Is(err, channel.ErrForged) {
			t.Errorf("an answer %s: %+v, %v", name, heard, err)
		}
	}
}
