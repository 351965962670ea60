package email_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

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
