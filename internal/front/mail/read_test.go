package mail_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/front/mail"
	"github.com/posthouse/posthouse/internal/inbound"
)

// read reads a mail whose lines end as they do on the wire.
func read(t *testing.T, body, language string) ([]inbound.Message, error) {
	t.Helper()
	form := mail.Form(func() mail.Reach { return mail.Reach{} })
	r := &http.Request{URL: &url.URL{RawQuery: url.Values{"from": {"cron@db1"}, "to": {"disks"}}.Encode()}}
	return form.Read(&inbound.Request{
		Request: r, Body: []byte(strings.ReplaceAll(body, "\n", "\r\n")), Now: time.Now(), Front: posthouse.Front{FrontSettings: posthouse.FrontSettings{Language: language}},
	})
}

func gb(t *testing.T, text string) string {
	t.Helper()
	out, err := simplifiedchinese.GB18030.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// What of a mail is its text, whatever it is written in.
func TestTextsOfMails(t *testing.T) {
	t.Parallel()
	// A character of GB18030 beyond GB2312 and GBK stands for what senders put under the older names.
	const chinese = "磁盘满了：𠮷镕"
	for name, c := range map[string]struct{ body, title, text string }{
		"plain":                  {"Subject: Disk\n\nfull\n now\n", "Disk", "full\n now"},
		"without a type":         {"Subject: Disk\nMIME-Version: 1.0\n\nfull\n", "Disk", "full"},
		"quoted-printable":       {"Subject: Disk\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n90% =3D full=\n now\n", "Disk", "90% = full now"},
		"base64 of GB18030":      {"Subject: =?gb18030?B?" + b64(gb(t, chinese)) + "?=\nContent-Type: text/plain; charset=\"gb18030\"\nContent-Transfer-Encoding: base64\n\n" + b64(gb(t, chinese)) + "\n", chinese, chinese},
		"GB18030 called GB2312":  {"Subject: =?GB2312?B?" + b64(gb(t, chinese)) + "?=\nContent-Type: text/plain; charset=gb2312\n\n" + gb(t, chinese) + "\n", chinese, chinese},
		"raw GBK, nothing said":  {"Subject: " + gb(t, "磁盘") + "\n\n" + gb(t, "满了") + "\n", "磁盘", "满了"},
		"raw UTF-8":              {"Subject: 磁盘\n\n满了\n", "磁盘", "满了"},
		"Big5":                   {"Subject: Disk\nContent-Type: text/plain; charset=big5\n\n\xba\xcf\xba\xd0\n", "Disk", "磁碟"},
		"an unknown charset":     {"Subject: =?x-none?Q?Disk?=\nContent-Type: text/plain; charset=x-none\n\n满了\n", "=?x-none?Q?Disk?=", "满了"},
		"folded words":           {"Subject: =?utf-8?Q?Di?=\n =?utf-8?Q?sk?=\n\nfull\n", "Disk", "full"},
		"alternatives":           {"Subject: Disk\nContent-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nplain\n--b\nContent-Type: text/html\n\n<p>rich\n--b--\n", "Disk", "plain"},
		"an empty plain text":    {"Subject: Disk\nContent-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n\n--b\nContent-Type: text/html\n\n<p>rich\n--b--\n", "Disk", "rich"},
		"several texts":          {"Subject: Disk\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo\n--b--\n", "Disk", "one\n\ntwo"},
		"parts of nobody":        {"Subject: Disk\nContent-Type: multipart/mixed\n\n--b\n\none\n", "Disk", "--b\n\none"},
		"broken off":             {"Subject: Disk\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\none\n", "Disk", "one"},
		"HTML in Chinese":        {"Subject: Disk\nContent-Type: text/html\n\n<meta charset=gbk><p>" + gb(t, "满了") + "</p>\n", "Disk", "满了"},
		"no subject":             {"From: a@b\n\nfull\n", "(no subject)", "full"},
		"a header within a word": {"Subject: =?utf-8?Q?Disk=0D=0ABcc:_all@example.com?=\n\nfull\n", "Disk\r\nBcc: all@example.com", "full"},
		"no text":                {"Subject: Disk\n\n", "Disk", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, c.body, "en")
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].Title != c.title || got[0].Text != c.text || len(got[0].Files) > 0 {
				t.Errorf("got %+v, want %q and %q", got, c.title, c.text)
			}
		})
	}
}

// HTML becomes lines that can be read.
func TestHTMLBecomesText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ html, want string }{
		"blocks":            {"<h1>Disk</h1>\n<p>is&nbsp;<b>full</b>,\n really</p><div>a</div><div>b<br>c</div>", "Disk\n\nis full, really\n\na\nb\nc"},
		"lists":             {"<ul><li>one</li><li>two</li></ul>", "- one\n- two"},
		"tables":            {"<table><tr><th>Host</th><th>Disk</th></tr><tr><td>db1</td><td>99%</td></tr></table>", "Host | Disk\ndb1 | 99%"},
		"tables of a page":  {"<table><tr><td><table><tr><td>only</td></tr></table></td><td>  </td></tr></table>after", "only\n\nafter"},
		"links":             {`<a href="https://a.example/x">open</a> <a href="https://b.example">https://b.example</a> <a href="#top">top</a>`, "open (https://a.example/x) https://b.example top"},
		"what nobody sees":  {"<title>T</title><style>p{}</style><script>if (a < b) alert('</p>')</script><!-- x -->seen", "seen"},
		"pictures":          {`<img src="cid:x" alt="the graph"> of today`, "the graph of today"},
		"lines as they are": {"<pre>one\n two</pre>", "one\ntwo"},
		"never closed":      {"<p>one<style>p{", "one"},
		"a sign":            {"1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, "Subject: x\nContent-Type: text/html; charset=utf-8\n\n"+c.html+"\n", "en")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got[0].Text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is no text is a file, with the name that its sender gave it.
func TestFilesOfMails(t *testing.T) {
	t.Parallel()
	part := func(header, body string) string { return "--b\n" + header + "\n\n" + body + "\n" }
	got, err := read(t, "Subject: Report\nContent-Type: multipart/mixed; boundary=b\n\n"+
		part("Content-Type: text/plain", "see there")+
		part("Content-Type: application/pdf; name=\"=?gb18030?B?"+b64(gb(t, "报告.pdf"))+"?=\"\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64", b64("%PDF"))+
		part("Content-Type: text/csv\nContent-Disposition: attachment; filename*=utf-8''%E8%A1%A8.csv", "a,b")+
		part("Content-Type: image/png\nContent-ID: <x>\nContent-Transfer-Encoding: base64", b64("\x89PNG"))+
		part("Content-Type: text/plain\nContent-Disposition: attachment; filename=\"notes.txt\"", "notes")+
		part("Content-Type: message/rfc822", "Subject: within\n\nit")+
		part("Content-Type: application/pkcs7-signature; name=smime.p7s", "x")+
		part("Content-Type: application/zip; name=\"../../etc/passwd\"\nContent-Transfer-Encoding: base64", "!!!!")+
		"--b--\n", "en")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range got[0].Files {
		files = append(files, fmt.Sprintf("%s %s %q", f.Name, f.Type, f.Body))
	}
	want := []string{
		`报告.pdf application/pdf "%PDF"`, `表.csv text/csv "a,b"`, `part-5.png image/png "\x89PNG"`, `notes.txt text/plain "notes"`, `part-7.eml message/rfc822 "Subject: within\r\n\r\nit"`,
		`../../etc/passwd application/zip ""`,
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if got[0].Text != "see there" {
		t.Errorf("the text is %q", got[0].Text)
	}
}

// The sender and the recipients of a mail, what makes two mails the same, and the priority.
func TestWhatAMailSaysOfItself(t *testing.T) {
	t.Parallel()
	got, err := read(t, "From: =?utf-8?Q?Li_Na?= <Li.Na@Example.com>\nTo: x@example.com\nMessage-ID: <1@example.com>\nX-Priority: 1 (Highest)\nSubject: Disk\n\nfull\n", "en")
	if err != nil {
		t.Fatal(err)
	}
	m := got[0]
	if diff := cmp.Diff(map[string]string{"from": "li.na@example.com", "to": "disks", "subject": "Disk"}, m.Labels); diff != "" || m.Key != "1@example.com" || m.Severity != "high" || m.Payload["from_name"] != "Li Na" {
		t.Errorf("%s; the message is %+v", diff, m)
	}
	if got, err = read(t, "Importance: Low\nSubject: Disk\n\nfull\n", "zh"); err != nil || got[0].Severity != "low" || got[0].Labels["from"] != "cron@db1" || got[0].Key != "" {
		t.Errorf("the message is %+v, %v", got, err)
	}
	if got, err = read(t, "From: a@b\n\nfull\n", "zh"); err != nil || got[0].Title != "（无主题）" {
		t.Errorf("the message is %+v, %v", got, err)
	}
}

// What is no mail is the sender's to mend.
func TestWhatIsNoMail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, says string }{
		"no header":  {"hello", "it is no mail"},
		"nothing":    {"From: a@b\n\n", "neither a subject nor a text"},
		"too long":   {"X: " + strings.Repeat("x", 300<<10) + "\n\nx", "it is no mail"},
		"a circle":   {strings.Repeat("Received: by a\n", 51) + "\nx", "goes round in a circle"},
		"long parts": {"Content-Type: multipart/mixed; boundary=b\n\n--b\n" + strings.Repeat("a: b\n", 20_000) + "\nx\n--b--\n", "the header of a part is too long"},
		"many parts": {"Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", 300), "more than 200 parts"},
		"deep parts": {"Content-Type: multipart/mixed; boundary=b0\n\n" + nested(20), "deeper than 10"},
	} {
		if _, err := read(t, c.body, "en"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}

// nested are parts within each other.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n", i, i+1)
	}
	return b.String()
}

// The lines to paste name the door as it is.
func TestSetupOfMail(t *testing.T) {
	t.Parallel()
	all := func(r mail.Reach) string {
		var b strings.Builder
		for _, s := range mail.Form(func() mail.Reach { return r }).Setup(inbound.Setup{URL: "https://post.example.com/in/mail", Token: "T0", Front: posthouse.Front{Name: "disks"}}) {
			b.WriteString(s.Title + "\n" + s.Text)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		at        mail.Reach
		says, not []string
	}{
		"none":  {mail.Reach{}, []string{"--smtp-listen", "https://post.example.com/in/mail/T0"}, []string{"swaks"}},
		"plain": {mail.Reach{Port: "25"}, []string{"--server post.example.com --port 25 --auth PLAIN", "tls off", "disks+T0@post.example.com"}, []string{"--tls", "--smtp-listen"}},
		"TLS":   {mail.Reach{Port: "25", TLS: true}, []string{"--port 25 --tls", "tls on", "password T0"}, nil},
	} {
		got := all(c.at)
		for _, text := range c.says {
			if !strings.Contains(got, text) {
				t.Errorf("%s: lacks %q:\n%s", name, text, got)
			}
		}
		for _, text := range c.not {
			if strings.Contains(got, text) {
				t.Errorf("%s: has %q:\n%s", name, text, got)
			}
		}
	}
}

// Whatever comes is read or refused, and nothing of it ends the server.
func FuzzMails(f *testing.F) {
	for _, seed := range []string{
		"Subject: x\n\nx\n", "Subject: =?utf-8?B?", "Content-Type: multipart/mixed; boundary=\"\"\n\n--\n\n--\n----\n", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html; charset=utf-16\n\n<p>\n--b--",
		"Content-Type: text/html\n\n<meta charset=gbk><table><tr><td>a<td><a href=http://b>c</a><pre>\n</pre><li><img alt=d><style>", "Content-Type: message/rfc822; name*0=a; name*1=b\nContent-Transfer-Encoding: base64\n\n====", "Content-Type: ;\nContent-Disposition: attachment; filename=\"=?x?q?y?=\"\n\n\xff\xfe",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if got, err := read(t, body, "zh"); err == nil && (len(got) != 1 || strings.TrimSpace(got[0].Title) == "") {
			t.Errorf("%q became %+v", body, got)
		}
	})
}
