package mail

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/mail"
	"strings"

	"github.com/emersion/go-message"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Bounds of a mail: of its header in bytes, of its parts and how deep they stand within each other, and of the servers that it came
// through, beyond which it goes round in a circle.
const (
	maxHeader   = 256 << 10
	maxParts    = 200
	maxDepth    = 10
	maxReceived = 50
)

// read makes a message of a mail.
func read(r *inbound.Request) ([]inbound.Message, error) {
	e, err := message.ReadWithOptions(bytes.NewReader(r.Body), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if e == nil {
		return nil, fmt.Errorf("it is no mail, whose header ends with an empty line: %w", err)
	}
	if received := e.Header.FieldsByKey("Received"); received.Len() > maxReceived {
		return nil, fmt.Errorf("it came through %d servers: it goes round in a circle", received.Len())
	}
	l := letter{in: r}
	text, _, err := l.read(e, 0)
	if err != nil {
		return nil, err
	}
	m := inbound.Message{
		Title: cmp.Or(strings.TrimSpace(header(&e.Header, "Subject")), noSubject(r)), Text: text, Files: l.files,
		Key: strings.Trim(e.Header.Get("Message-Id"), " <>"), Severity: importance(&e.Header),
	}
	m.Ref = m.Key
	if len(text) == 0 && len(l.files) == 0 && e.Header.Get("Subject") == "" {
		return nil, errors.New("there is neither a subject nor a text in it")
	}
	name, from := sender(r, &e.Header)
	to := addressee(r, &e.Header)
	m.Labels = map[string]string{"from": from, "to": to, "subject": m.Title}
	m.Payload = map[string]any{"from": from, "from_name": name, "to": to, "subject": m.Title, "message_id": m.Key, "attachments": names(l.files)}
	return []inbound.Message{m}, nil
}

func noSubject(r *inbound.Request) string {
	if r.Chinese() {
		return "（无主题）"
	}
	return "(no subject)"
}

// sender is whom a mail is from, by its header or else by its envelope.
func sender(r *inbound.Request, h *message.Header) (name, address string) {
	parser := mail.AddressParser{WordDecoder: &words}
	if list, err := parser.ParseList(h.Get("From")); err == nil {
		return list[0].Name, strings.ToLower(list[0].Address)
	}
	return "", strings.ToLower(r.URL.Query().Get("from"))
}

// addressee is what stands before the @ of the first address that a mail is to, without the token.
func addressee(r *inbound.Request, h *message.Header) string {
	to := r.URL.Query().Get("to")
	if to == "" {
		if list, err := mail.ParseAddressList(h.Get("To")); err == nil {
			to = list[0].Address
		}
	}
	name, _ := recipient(to)
	return name
}

// importance is the sender's word for how important a mail is, such as high; empty for none.
func importance(h *message.Header) string {
	if number := strings.TrimSpace(h.Get("X-Priority")); number != "" {
		switch number[0] {
		case '1', '2':
			return "high"
		case '4', '5':
			return "low"
		}
	}
	return strings.ToLower(strings.TrimSpace(cmp.Or(h.Get("Importance"), h.Get("Priority"))))
}

func names(files []inbound.File) []any {
	list := []any{}
	for i := range files {
		list = append(list, files[i].Name)
	}
	return list
}

// letter is a mail that is taken apart.
type letter struct {
	in    *inbound.Request
	files []inbound.File
	parts int
}

// read is the text of a part with all below it, and whether it was written as plain text. What is no text is kept as a file.
func (l *letter) read(e *message.Entity, depth int) (text string, plain bool, err error) {
	if l.parts++; l.parts > maxParts || depth > maxDepth {
		return "", false, fmt.Errorf("it has more than %d parts, or parts deeper than %d within each other", maxParts, maxDepth)
	}
	kind, params, _ := e.Header.ContentType() // of one that cannot be read, the text before the first semicolon counts
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	if strings.HasPrefix(kind, "multipart/") {
		if boundary := params["boundary"]; boundary != "" {
			return l.readParts(multipart.NewReader(e.Body, boundary), kind == "multipart/alternative", depth)
		}
		kind = "text/plain" // nobody can tell its parts
	}
	body, err := io.ReadAll(e.Body)
	if err != nil {
		l.in.Note(fmt.Sprintf("a part of the type %.80s is broken off after %d bytes", kind, len(body)))
	}
	disposition, more, _ := e.Header.ContentDisposition()
	name := decodeWords(cmp.Or(more["filename"], params["name"]))
	switch {
	case strings.EqualFold(disposition, "attachment") || name != "" || kind != "text/plain" && kind != "text/html":
		l.attach(kind, name, body)
	case kind == "text/html":
		return plainOf(l.decoded(body, params["charset"], true)), false, nil
	default:
		text = l.decoded(body, params["charset"], false)
		return strings.Trim(strings.ReplaceAll(text, "\r\n", "\n"), "\r\n"), true, nil
	}
	return "", false, nil
}

// readParts is the text of parts: of alternatives the plain one, or else the last. The reader of the standard library bounds the headers of
// parts, and the one of go-message does not.
func (l *letter) readParts(parts *multipart.Reader, alternative bool, depth int) (text string, plain bool, err error) {
	for {
		part, err := parts.NextRawPart()
		switch {
		case err == io.EOF: //nolint:errorlint // the end of all parts, and not of what they are read from
			return text, plain, nil
		case errors.Is(err, multipart.ErrMessageTooLarge):
			return "", false, fmt.Errorf("the header of a part is too long: %w", err)
		case err != nil:
			l.in.Note("the mail is broken off within its parts")
			return text, plain, nil //nolint:nilerr // what came is told
		}
		e, _ := message.New(message.HeaderFromMap(part.Header), part) // an unknown charset or encoding leaves it as it is
		one, is, err := l.read(e, depth+1)
		switch {
		case err != nil:
			return "", false, err
		case strings.TrimSpace(one) == "" || alternative && plain && !is:
		case alternative || text == "":
			text, plain = one, is
		default:
			text += "\n\n" + one
		}
	}
}

// endings are those of the names of parts that have none.
var endings = map[string]string{
	"application/pdf": ".pdf", "image/gif": ".gif", "image/jpeg": ".jpg", "image/png": ".png", "message/rfc822": ".eml", "text/calendar": ".ics", "text/csv": ".csv",
}

// attach keeps a part as a file. Signatures of the mail itself are no files to anybody.
func (l *letter) attach(kind, name string, body []byte) {
	if strings.HasSuffix(kind, "-signature") && strings.HasPrefix(kind, "application/") {
		l.in.Note("its signature is left out")
		return
	}
	if name == "" {
		name = fmt.Sprint("part-", l.parts, endings[kind])
	}
	l.files = append(l.files, inbound.File{Name: name, Type: kind, Body: body})
}
