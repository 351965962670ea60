package email

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/mailbox"
)

// sum signs the link by which an address unsubscribes.
func sum(token, address string) string {
	mac := hmac.New(sha256.New, []byte(token))
	io.WriteString(mac, "unsubscribe\n"+address)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Receive takes the one click of RFC 8058, and what a mail server or a mailbox posts as it came: bounces, by RFC 3464, and answers of people.
func (d *driver) Receive(call channel.Callback) (channel.Heard, error) {
	switch {
	case d.token == "":
		return channel.Heard{}, fmt.Errorf("%w: the channel has no callback_token", channel.ErrForged)
	case call.Query.Has("to"):
		return d.leave(call)
	case call.Method != http.MethodPost:
		return channel.Heard{}, fmt.Errorf("%w: a bounce is posted", channel.ErrForged)
	}
	token, _ := strings.CutPrefix(call.Header.Get("Authorization"), "Bearer ")
	if !hmac.Equal([]byte(token), []byte(d.token)) {
		return channel.Heard{}, fmt.Errorf("%w: the header Authorization is not Bearer and the callback_token", channel.ErrForged)
	}
	heard, err := bounced(call.Body)
	if answer, is := answered(call.Body); err != nil && is {
		return answer, nil
	}
	if err != nil {
		return channel.Heard{}, fmt.Errorf("%w: %w", channel.ErrForged, err)
	}
	return heard, nil
}

// leave takes somebody's word that they want no more mail. A look at the link, such as by a program that reads mail for viruses, is none.
// The plain answers are in both languages: who takes no page does not say which one is read.
func (d *driver) leave(call channel.Callback) (channel.Heard, error) {
	to := call.Query.Get("to")
	ours := func(token string) bool {
		return token != "" && hmac.Equal([]byte(call.Query.Get("sum")), []byte(sum(token, to)))
	}
	if !ours(d.token) && !ours(d.oldToken) {
		return channel.Heard{}, fmt.Errorf("%w: the link is not one of ours", channel.ErrForged)
	}
	if call.Method != http.MethodPost {
		return channel.Heard{Kind: "check", Answer: "POST here to get no more of this mail. 向此地址发送 POST 请求即可退订。", Page: &channel.Page{Address: to, Asks: true}}, nil
	}
	return channel.Heard{Kind: "unsubscribe", Answer: "You get no more of this mail. 今后您不会再收到此类邮件。", Page: &channel.Page{Address: to}, Consents: []channel.Consent{{Address: to, Reason: "unsubscribed"}}}, nil
}

// errNoReport is what a post is that tells of no delivery.
var errNoReport = errors.New("is neither a delivery status notification nor an answer to a mail of ours: want a message as it came, of type multipart/report or with the header In-Reply-To")

// bounced reads a delivery status notification: RFC 3464.
func bounced(body []byte) (channel.Heard, error) {
	m, err := mail.ReadMessage(bytes.NewReader(body))
	if err != nil {
		return channel.Heard{}, errNoReport
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/report" || params["boundary"] == "" {
		return channel.Heard{}, errNoReport
	}
	heard := channel.Heard{Kind: "bounce"}
	var recipients []textproto.MIMEHeader
	ref := ""
	parts := multipart.NewReader(m.Body, params["boundary"])
	for part, err := parts.NextPart(); err == nil; part, err = parts.NextPart() { // what follows a broken part is not read
		switch kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); kind {
		case "message/delivery-status", "message/global-delivery-status":
			recipients = append(recipients, statuses(part)...)
		case "message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers":
			if header, err := textproto.NewReader(bufio.NewReader(part)).ReadMIMEHeader(); err == nil || len(header) > 0 {
				ref = strings.Trim(header.Get("Message-Id"), "<> ")
			}
		}
	}
	if len(recipients) == 0 {
		return channel.Heard{}, errNoReport
	}
	for _, of := range recipients {
		hear(&heard, of, ref)
	}
	return heard, nil
}

// gone are the statuses of mailboxes that are not there, and will not be: RFC 3463, 3.2.
var gone = []string{"5.1.1", "5.1.2", "5.1.6", "5.1.10", "5.2.1"}

// hear adds what a report says of one recipient: what was returned, and who is not there. That a mail is late, or was passed on, is no news.
func hear(heard *channel.Heard, of textproto.MIMEHeader, ref string) {
	receipt := channel.Receipt{Known: true}
	status, _, _ := strings.Cut(strings.TrimSpace(of.Get("Status")), " ")
	switch strings.ToLower(strings.TrimSpace(of.Get("Action"))) {
	case "failed":
		_, diagnostic, typed := strings.Cut(of.Get("Diagnostic-Code"), ";")
		if !typed {
			diagnostic = of.Get("Diagnostic-Code")
		}
		receipt.Code, receipt.Error = status, strings.TrimSpace(diagnostic)
	case "delivered":
		receipt.Delivered = true
	default:
		return
	}
	if ref != "" {
		heard.Reports = append(heard.Reports, channel.Report{Ref: ref, Receipt: receipt})
	}
	if !slices.Contains(gone, status) {
		return
	}
	address := of.Get("Original-Recipient")
	if address == "" {
		address = of.Get("Final-Recipient")
	}
	_, address, _ = strings.Cut(address, ";")
	if kept, err := mailbox.Parse(address); err == nil {
		heard.Consents = append(heard.Consents, channel.Consent{Address: kept, Reason: "bounced " + status})
	}
}

// statuses are the groups of fields of the recipients: RFC 3464, 2.1. The first group is about the message.
func statuses(part io.Reader) []textproto.MIMEHeader {
	var groups []textproto.MIMEHeader
	for r := textproto.NewReader(bufio.NewReader(part)); ; {
		group, err := r.ReadMIMEHeader()
		if group.Get("Final-Recipient") != "" {
			groups = append(groups, group)
		}
		if err != nil {
			return groups
		}
	}
}
