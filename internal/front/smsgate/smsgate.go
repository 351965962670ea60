// Package smsgate is the front for clients that send text messages by an SMS Gateway for Android (SMSGate). It is the one kind whose senders
// name the recipients: that is what they are for.
package smsgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/phone"
)

// Form is the language (https://docs.sms-gate.app, and github.com/android-sms-gateway/server, internal/sms-gateway/handlers/messages).
func Form() inbound.Form {
	return inbound.Form{Kind: "smsgate", Paths: []string{"/3rdparty/v1/", "/mobile/v1/"}, Title: "SMS Gateway for Android (SMSGate)", TitleZH: "安卓短信网关 SMSGate", MaxBody: 256 << 10, Names: true, Read: read, Answer: answer, Setup: setup}
}

// The original's bounds: of an id in characters, of the numbers of a message, and of how long a message is good for, in seconds, which is
// ours at its upper end.
const (
	maxID      = 36
	maxNumbers = 100
	minTTL     = 5
	maxTTL     = 366 * 24 * 3600
)

// The original's bounds of a priority: what is above normal goes before its limits and delays.
const (
	belowNormal = -1
	aboveNormal = 100
)

// body is a message as clients post it.
type body struct {
	ID          string `json:"id"`
	DeviceID    string `json:"deviceId"`
	Message     string `json:"message"` // what it was called before textMessage
	TextMessage *struct {
		Text string `json:"text"`
	} `json:"textMessage"`
	DataMessage  json.RawMessage `json:"dataMessage"`
	PhoneNumbers []string        `json:"phoneNumbers"`
	IsEncrypted  bool            `json:"isEncrypted"`
	SimNumber    *int            `json:"simNumber"`
	Priority     int             `json:"priority"`
	TTL          *int64          `json:"ttl"`
	ValidUntil   *time.Time      `json:"validUntil"`
	ScheduleAt   *time.Time      `json:"scheduleAt"`
}

// asked is the part of a path behind that of the interface, such as messages/ID.
func asked(r *inbound.Request) string {
	return strings.TrimPrefix(strings.Trim(strings.Join(r.Rest, "/"), "/"), "3rdparty/v1/")
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	at, id, one := strings.Cut(asked(r), "/")
	switch {
	case at != "messages" && at != "message":
	case one && r.Method == http.MethodGet:
		return nil, r.Find(id)
	case !one && r.Method == http.MethodPost:
		m, err := message(r)
		return []inbound.Message{m}, err
	}
	return nil, inbound.Missing("there is no " + r.Method + " " + inbound.Cut(inbound.OneLine(asked(r)), 100) + " here: messages are posted, and asked for by their id")
}

func message(r *inbound.Request) (m inbound.Message, err error) {
	var b body
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return m, fmt.Errorf("the body is no message of SMSGate's: %w", err)
	}
	if m.Text, err = b.text(); err != nil {
		return m, err
	}
	if n := utf8.RuneCountInString(b.ID); n > maxID {
		return m, fmt.Errorf("id has %d characters: at most %d are allowed", n, maxID)
	}
	numbers, err := b.numbers(r)
	if err != nil {
		return m, err
	}
	for _, n := range numbers {
		m.To = append(m.To, posthouse.Recipient{Address: n})
	}
	m.ID, m.Ref, m.Priority = b.ID, b.ID, inbound.Scale(strconv.Itoa(b.Priority), belowNormal, aboveNormal)
	m.Labels = map[string]string{"deviceId": b.DeviceID}
	if b.SimNumber != nil {
		m.Labels["simNumber"] = strconv.Itoa(*b.SimNumber)
		r.Note(fmt.Sprintf("simNumber %d is ignored: the channel decides what the message goes out by", *b.SimNumber))
	}
	m.Payload = map[string]any{"id": b.ID, "phone_numbers": strings.Join(numbers, ", ")}
	m.NotBefore, m.Deadline, err = b.times(r.Now)
	return m, err
}

// text is what is sent. What only the original's app could read is refused.
func (b *body) text() (string, error) {
	switch {
	case len(b.DataMessage) > 0 && string(b.DataMessage) != "null":
		return "", errors.New("dataMessage is not sent here: want textMessage")
	case b.IsEncrypted:
		return "", errors.New("isEncrypted is set: no phone here has the passphrase, so want a text that is not encrypted")
	case b.TextMessage != nil && b.Message != "":
		return "", errors.New("there are both textMessage and message: want one of them")
	case b.TextMessage != nil && b.TextMessage.Text != "":
		return b.TextMessage.Text, nil
	case b.Message != "":
		return b.Message, nil
	}
	return "", errors.New("textMessage.text is required")
}

// numbers are those that are named, in E.164 where they are looked at: not where the front has recipients of its own, nor where the client
// asks for it.
func (b *body) numbers(r *inbound.Request) (list []string, err error) {
	if n := len(b.PhoneNumbers); n == 0 || n > maxNumbers {
		return nil, fmt.Errorf("phoneNumbers has %d numbers: want 1 to %d", n, maxNumbers)
	}
	asGiven := len(r.Front.To) > 0 || r.URL.Query().Get("skipPhoneValidation") == "true"
	for i, given := range b.PhoneNumbers {
		n := strings.TrimSpace(given)
		if !asGiven {
			known, err := phone.Parse(given, phone.Home)
			if err != nil {
				return nil, fmt.Errorf("phoneNumbers[%d] %w", i, err)
			}
			if !known.Mobile {
				return nil, fmt.Errorf("phoneNumbers[%d] is no mobile number: text messages do not arrive at it", i)
			}
			n = known.E164
		}
		if slices.Contains(list, n) {
			return nil, fmt.Errorf("phoneNumbers[%d] is there twice: phone numbers must be unique", i)
		}
		list = append(list, n)
	}
	return list, nil
}

// times are from when and until when a message is to go out.
func (b *body) times(now time.Time) (from, until time.Time, err error) {
	switch {
	case b.TTL != nil && b.ValidUntil != nil:
		return from, until, errors.New("there are both ttl and validUntil: want one of them")
	case b.TTL != nil && (*b.TTL < minTTL || *b.TTL > maxTTL):
		return from, until, fmt.Errorf("ttl is %d: want %d to %d seconds", *b.TTL, minTTL, maxTTL)
	case b.TTL != nil:
		until = now.Add(time.Duration(*b.TTL) * time.Second)
	case b.ValidUntil != nil:
		until = *b.ValidUntil
	}
	if b.ScheduleAt == nil {
		return from, until, nil
	}
	if from = *b.ScheduleAt; !from.After(now) {
		return from, until, fmt.Errorf("scheduleAt is %s: want a time in the future", from.Format(time.RFC3339))
	}
	return from, until, nil
}

func setup(s inbound.Setup) []inbound.Snippet {
	at := s.URL + "/3rdparty/v1"
	return []inbound.Snippet{
		{Title: "the server's address; then any user, and the password", Text: at + "\nposthouse\n" + s.Token + "\n"},
		{Title: "a try by hand", Text: "curl -u posthouse:" + s.Token + " -H 'Content-Type: application/json' -d '{\"textMessage\":{\"text\":\"hello\"},\"phoneNumbers\":[\"+8613800138000\"]}' " + at + "/messages\n"},
	}
}
