// Package mail is the front for whatever sends mail: cron, disks, backups, printers, cameras, and programs that know nothing else. Form
// reads a mail as a message; Door takes mail by SMTP. It relays nothing: what comes goes to the recipients of the front alone.
package mail

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/shellword"
)

// Kind is that of the fronts that take mail.
const Kind = "mail"

// Window is how long a mail of the same Message-ID is taken once: as long as mail servers usually try again.
const Window = 24 * time.Hour

// Reach is where mail is taken, as its senders are told.
type Reach struct {
	// Port is empty where no mail is taken by SMTP.
	Port string
	TLS  bool
}

// Form reads a mail (RFC 5322), which comes by the Door or as the body of a POST. reach is asked when a front is made.
func Form(reach func() Reach) inbound.Form {
	return inbound.Form{
		Kind: Kind, Title: "Mail (SMTP)", TitleZH: "邮件（SMTP）", Read: read, Answer: inbound.AnswerText, MaxBody: maxMail, Window: Window,
		Setup:      func(s inbound.Setup) []inbound.Snippet { return setup(s, reach()) },
		Priorities: map[string]posthouse.Priority{"high": posthouse.High, "urgent": posthouse.High, "low": posthouse.Low, "non-urgent": posthouse.Low},
	}
}

// maxMail bounds a mail in bytes; the bound is less where bodies are bounded more tightly.
const maxMail = 32 << 20

func setup(s inbound.Setup, at Reach) []inbound.Snippet {
	posted := inbound.Snippet{Title: "a mail in a file, by HTTP", Text: fmt.Sprintf("curl -H 'Content-Type: message/rfc822' --data-binary @mail.eml '%s'\n", s.Address())}
	if at.Port == "" {
		return []inbound.Snippet{posted, {Title: "this server takes no mail by SMTP: start it with", Text: "posthouse serve --smtp-listen 127.0.0.1:2525\n"}}
	}
	host := "localhost"
	if u, err := url.Parse(s.URL); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	domain := host
	if net.ParseIP(host) != nil || !strings.Contains(host, ".") { // it counts for nothing, and senders want one with a dot
		domain = "posthouse.local"
	}
	name, tls, secure := s.Front.Name, "off", ""
	if at.TLS {
		tls, secure = "on", " --tls"
	}
	return []inbound.Snippet{
		{Title: "a try by hand", Text: fmt.Sprintf("swaks --server %s --port %s%s --auth PLAIN --auth-user %s --auth-password %s --from %[6]s --to %[6]s --header 'Subject: a try' --body hello\n",
			shellword.Quote(host), at.Port, secure, shellword.Quote(name), s.Token, shellword.Quote(name+"@"+domain))},
		{Title: "msmtp, in /etc/msmtprc: cron, mail and mailx then send by it", Text: fmt.Sprintf("account default\nhost %s\nport %s\nfrom %s@%s\nauth plain\nuser %s\npassword %s\ntls %s\n", host, at.Port, name, domain, name, s.Token, tls)},
		{Title: "the recipient, for a sender that has no user and password", Text: fmt.Sprintf("%s+%s@%s\n", name, s.Token, domain)},
		{Title: "the same for one that wants no more than 64 characters before the @", Text: fmt.Sprintf("%s@%s\n", s.Token, domain)},
		posted,
	}
}

// recipient takes the token out of an address such as disks+TOKEN@example.com or TOKEN@example.com, and returns the name before it. Of an
// address without a token the name is all before the @.
func recipient(address string) (name, token string) {
	local := address
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		local = address[:at]
	}
	local = strings.ToLower(strings.Trim(local, `"`))
	plus := strings.LastIndexByte(local, '+')
	if !inbound.IsToken(local[plus+1:]) {
		return local, ""
	}
	return local[:max(plus, 0)], local[plus+1:]
}
