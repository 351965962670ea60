package server_test

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

func withMail(o *server.Options) { o.SMTP.Addr = "127.0.0.1:0" }

// mails sends a mail by the front whose token it shows.
func (h *house) mails(f wire.NewFront, text string) error {
	h.Helper()
	return smtp.SendMail(h.program.SMTPAddr(), smtp.PlainAuth("", f.Name, f.Token, "127.0.0.1"), "cron@db1", []string{"disks@example.com"}, []byte(strings.ReplaceAll(text, "\n", "\r\n")))
}

// codeOf is the code of an answer, 250 for a mail that was taken.
func codeOf(err error) int {
	var told *textproto.Error
	switch {
	case err == nil:
		return 250
	case errors.As(err, &told):
		return told.Code
	}
	return 0
}

// A mail becomes a message once, however often it is sent, and the token stands nowhere.
func TestAMailIsOneMessage(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			h := open(t, d.dsn(t), withMail)
			f := h.front("mail", func(in *wire.PutFront) {
				in.Match = []posthouse.FrontMatch{{If: map[string]string{"to": "disks"}, To: []posthouse.Recipient{{User: "u2"}}}}
			})
			mail := "From: Cron <root@db1>\nTo: disks+" + f.Token + "@example.com\nMessage-ID: <1@db1>\nX-Priority: 1\nSubject: =?GB2312?B?" + base64.StdEncoding.EncodeToString([]byte("\xb4\xc5\xc5\xcc")) + "?=\nContent-Type: text/plain; charset=gb2312\n\n\xc2\xfa\xc1\xcb\n"
			for range 2 {
				h.must(h.mails(f, mail))
			}
			list := h.lastMessages()
			if len(list) != 1 {
				h.Fatalf("there are %d messages, want one", len(list))
			}
			m := list[0]
			if m.Content.Title != "磁盘" || m.Content.Text != "满了" || m.Kind != "mail" || m.Priority != posthouse.High || m.Ref != "1@db1" || m.Source != "front mail" {
				h.Errorf("the message is %+v", m)
			}
			if to := h.sentTo(m.ID); !slices.Equal(to, []string{"u2"}) {
				h.Errorf("it is for %v", to)
			}
			h.must(h.mails(f, strings.Replace(mail, "<1@db1>", "<2@db1>", 1)))
			if n := len(h.lastMessages()); n != 2 {
				h.Errorf("another mail made %d messages, want two", n)
			}
			var calls []posthouse.FrontCall
			h.eventually("the calls are kept", func() bool {
				var err error
				calls, err = h.api.Fronts.Calls(h.Context(), f.Name)
				h.must(err)
				return len(calls) == 3
			})
			if c := calls[1]; c.Outcome != posthouse.FrontDuplicate || !strings.Contains(c.Shown, "From: Cr***\n") || strings.Contains(c.Shown, "db1") {
				h.Errorf("a call is %+v", c)
			}
			whole, err := h.api.Fronts.Reveal(h.Context(), f.Name, calls[0].ID, "a test")
			h.must(err)
			if !strings.Contains(whole.Body, "To: disks+(token)@example.com") {
				h.Errorf("revealed: %s", whole.Body)
			}
			if strings.Contains(h.log.tail(10_000), f.Token) {
				h.Error("the token stands in the log")
			}
			if n := h.metric(`posthouse_front_messages_total{front="mail",kind="mail"}`); n != 2 {
				h.Errorf("the metric counts %v messages", n)
			}
			if f, err := h.api.Fronts.Get(h.Context(), f.Name); err != nil || f.LastAt.IsZero() {
				h.Errorf("it was never called: %+v, %v", f, err)
			}
		})
	}
}

// withFiles is a mail with a text, a report and a picture.
func withFiles(text string) string {
	picture := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n0000000000"))
	return "Message-ID: <files@db1>\nSubject: Report\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\n" + text + "\n--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=\"report.pdf\"\n\n%PDF-1.4 of ours" +
		"\n--b\nContent-Type: image/gif; name=graph.png\nContent-Transfer-Encoding: base64\n\n" + picture + "\n--b\nContent-Type: text/csv; name=none.csv\n\n\n--b--\n"
}

// What is attached goes on where the channel sends files, and is named where it does not.
func TestFilesOfMailsGoOnOrAreNamed(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withMail)
	h.put(posthouse.Channel{Name: "post", Driver: "email", Config: map[string]any{"host": "127.0.0.1", "port": 9, "from": "a@example.com", "tls": "opportunistic"}})
	_, err := h.api.Channels.Pause(h.Context(), "post", "")
	h.must(err)
	f := h.front("mail", func(in *wire.PutFront) {
		in.Channel, in.To = "post", []posthouse.Recipient{{Address: "li@example.com"}}
	})
	for range 2 { // the files are once there too
		h.must(h.mails(f, withFiles("see there")))
	}
	var got []string
	for _, m := range h.lastMessages() {
		line := fmt.Sprintf("%s %s: %s", m.Content.Kind(), m.Content.Title, m.Content.Text)
		for _, file := range m.Content.Media {
			stored, err := h.api.Media.Get(h.Context(), file.Upload)
			h.must(err)
			line += fmt.Sprintf("%s %s %d", stored.Name, stored.Type, stored.Size)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	want := []string{
		"file Report: report.pdf: report.pdf application/pdf 16", "image Report: graph.png: graph.png image/png 18",
		"text Report: see there\n\nLeft out, since the channel does not send it: none.csv (0 bytes)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the messages are %q, want %q", got, want)
	}
}

// A channel that sends texts alone names what it leaves out, and the text stays within its bound.
func TestWhatIsLeftOutIsNamed(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withMail)
	f := h.front("mail", func(in *wire.PutFront) { in.Language = "zh" })
	h.must(h.mails(f, withFiles(strings.Repeat("长", 3000))))
	list := h.lastMessages()
	const named = "…\n\n该渠道发不了，附件未转发：report.pdf (16 bytes)、graph.png (18 bytes)、none.csv (0 bytes)"
	if len(list) != 1 || !strings.HasSuffix(list[0].Content.Text, named) || len(list[0].Content.Text) > 4000 {
		t.Errorf("the messages are %+v", list)
	}
	h.eventually("the call says so", func() bool {
		calls, err := h.api.Fronts.Calls(h.Context(), f.Name)
		h.must(err)
		return len(calls) == 1 && strings.Contains(calls[0].Reason, "the file report.pdf is left out: content.type is file")
	})
}

// What a channel takes no more of is cut, and what was left out stays named: a text that is refused for its length would come again for ever.
func TestALongTextIsCutToWhatTheChannelTakes(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withMail)
	h.put(posthouse.Channel{Name: "robot", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "k"}})
	f := h.front("mail", func(in *wire.PutFront) { in.Channel, in.To = "robot", []posthouse.Recipient{{Address: "robot"}} })
	h.must(h.mails(f, withFiles(strings.Repeat("长", 2000))))
	var got posthouse.Content
	for _, m := range h.lastMessages() {
		if m.Content.Kind() == posthouse.TextContent {
			got = m.Content
		}
	}
	const most, end = 2048, "…\n\nLeft out, since the channel does not send it: none.csv (0 bytes)"
	if n := len(got.Title + "\n" + got.Text); n > most || n < most-len("长") || !strings.HasSuffix(got.Text, end) {
		t.Errorf("the text has %d bytes and ends with %q", n, got.Text[max(0, len(got.Text)-100):])
	}
	h.eventually("the call says so", func() bool {
		calls, err := h.api.Fronts.Calls(h.Context(), f.Name)
		h.must(err)
		return len(calls) == 1 && strings.Contains(calls[0].Reason, "its text of 6000 bytes is cut to 19")
	})
}

// What senders are told: to come again, as long as it is not theirs to mend.
func TestCodesOfMails(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withMail, func(o *server.Options) { o.MaxBody = 64 << 10 })
	f := h.front("mail")
	refused := wire.NewFront{Front: posthouse.Front{Name: "mail"}, Token: strings.Repeat("0", 64)}
	if got := codeOf(h.mails(refused, "Subject: x\n\nx\n")); got != 535 {
		t.Errorf("a wrong token: %d", got)
	}
	if got := codeOf(h.mails(f, "x\n")); got != 554 {
		t.Errorf("no mail: %d", got)
	}
	if got := codeOf(h.mails(f, "Subject: x\n\n"+strings.Repeat("xxxxxxx\n", 20<<10))); got != 552 {
		t.Errorf("a large one: %d", got)
	}
	err := smtp.SendMail(h.program.SMTPAddr(), nil, "a@b", []string{"ops@example.com"}, []byte("Subject: x\r\n\r\nx\r\n"))
	if got := codeOf(err); got != 550 || !strings.Contains(err.Error(), "nothing is relayed") {
		t.Errorf("a relay: %v", err)
	}
	if n := len(h.lastMessages()); n > 0 {
		t.Errorf("there are %d messages", n)
	}
	if n := h.metric(`posthouse_front_requests_total{front="",kind="mail",outcome="unauthorized"}`); n != 2 {
		t.Errorf("%v were nobody's, want 2", n)
	}
	_, err = h.api.Channels.Pause(h.Context(), "out", "")
	h.must(err)
	_, err = h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{Quota: posthouse.Quota{Open: 1}})
	h.must(err)
	var last error
	h.eventually("the queue is full", func() bool {
		last = h.mails(f, fmt.Sprintf("Subject: %d\n\nx\n", h.count("posthouse_messages")))
		return last != nil
	})
	if got := codeOf(last); got != 451 || !strings.Contains(last.Error(), "it could not be committed") {
		t.Errorf("a full queue: %v", last)
	}
	_, err = h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{})
	h.must(err)
	h.must(h.api.Fronts.Delete(h.Context(), f.Name))
	h.eventually("the token ends with its front", func() bool { return codeOf(h.mails(f, "Subject: x\n\nx\n")) == 535 })
}

// While the database is away a sender is told to come again.
func TestMailWithoutADatabase(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withMail)
	f := h.front("mail")
	h.must(h.mails(f, "Subject: x\n\nx\n"))
	_, err := h.db.ExecContext(h.Context(), "ALTER TABLE posthouse_messages RENAME TO gone")
	h.must(err)
	if got := codeOf(h.mails(f, "Subject: y\n\ny\n")); got != 451 {
		t.Errorf("it cannot be stored: %d, want 451", got)
	}
	_, err = h.db.ExecContext(h.Context(), "ALTER TABLE gone RENAME TO posthouse_messages")
	h.must(err)
	h.eventually("what comes again is taken", func() bool { return h.mails(f, "Subject: y\n\ny\n") == nil })
}

// Mail that others can send comes by TLS, with a certificate of its own or that of the API.
func TestMailByTLS(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]server.Options{
		"no certificate": {SMTP: server.SMTP{Addr: ":0"}},
		"half a pair":    {SMTP: server.SMTP{Addr: "127.0.0.1:0", TLSKey: "x"}},
	} {
		o.DSN = dbtest.SQLite(t)
		if err := starts(t, o); err == nil || !strings.Contains(err.Error(), "smtp_") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	cert, key := certify(t, t.TempDir(), "mail")
	h := open(t, dbtest.SQLite(t), withMail, func(o *server.Options) { o.SMTP.TLSCert, o.SMTP.TLSKey = cert, key })
	f := h.front("mail")
	setup := fmt.Sprint(f.Setup)
	if port := h.program.SMTPAddr(); !strings.Contains(setup, "--port "+port[strings.LastIndexByte(port, ':')+1:]+" --tls") || strings.HasPrefix(h.url, "https") {
		t.Errorf("the setup is %s", setup)
	}
	c, err := smtp.Dial(h.program.SMTPAddr())
	h.must(err)
	defer c.Close()
	h.must(c.StartTLS(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // the test made the certificate
	if state, _ := c.TLSConnectionState(); state.PeerCertificates[0].Subject.CommonName != "mail" {
		t.Errorf("it shows %v", state.PeerCertificates[0].Subject)
	}
	h.must(c.Auth(smtp.PlainAuth("", f.Name, f.Token, "127.0.0.1")))
	h.must(c.Mail("a@b"))
}

// What stands encoded in a header is one line in what is sent on, and calls nobody.
func TestNoHeaderIsInjected(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withMail)
	f := h.front("mail")
	h.must(h.mails(f, "From: =?utf-8?Q?x=0D=0ABcc:_evil=40example.com?= <a@b>\nSubject: =?utf-8?Q?Disk=0D=0ABcc:_evil=40example.com=00?=\n\nfull <@all>\n"))
	if m := h.lastMessages()[0]; m.Content.Title != "Disk Bcc: evil@example.com" || strings.Contains(m.Content.Text, "<@all>") {
		t.Errorf("the message is %+v", m.Content)
	}
}

// Senders of mail who say nothing take no room from others, and hold up no stop.
func TestIdleSendersOfMailMakeRoom(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withMail, func(o *server.Options) { o.MaxConnections, o.MaxConnectionsPerAddress = 4, -1 })
	f := h.front("mail")
	for range 10 {
		c, err := textproto.Dial("tcp", h.program.SMTPAddr())
		h.must(err)
		t.Cleanup(func() { c.Close() })
		_, _, err = c.ReadResponse(220)
		h.must(err)
	}
	h.must(h.mails(f, "Subject: x\n\nx\n"))
	if n := h.metric(`posthouse_connections_closed_total{which="idle"}`); n < 6 {
		t.Errorf("%v idle ones were closed, want 6 or more", n)
	}
	http.DefaultClient.CloseIdleConnections()
	c, err := textproto.Dial("tcp", h.program.SMTPAddr())
	h.must(err)
	defer c.Close()
	_, _, err = c.ReadResponse(220)
	h.must(err)
	h.must(h.stop(h.Context()))
	if _, _, err := c.ReadResponse(421); err != nil {
		t.Errorf("at the stop it is told %v", err)
	}
}
