package read

import (
	"bytes"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// Hidden is a message as it may be shown. What is sensitive is not stored in it, and would not be shown if it were; and the links and keys by
// which a person acts are masked: whoever may read would act as that person by them. What is stored stays as it is, as a retry sends it again.
func Hidden(m posthouse.Message) posthouse.Message {
	if m.Sensitive {
		m.Content, m.Payload = posthouse.Content{}, nil
	}
	m.Content, m.Payload = Masked(m.Content), masked(m.Payload)
	m.Unreadable = secret.MaskTokens(m.Unreadable)
	return m
}

// Masked is a content without the links and keys by which a person acts.
func Masked(c posthouse.Content) posthouse.Content {
	c.Title, c.Text, c.Extra = secret.MaskTokens(c.Title), secret.MaskTokens(c.Text), masked(c.Extra)
	for i := range c.Media {
		if url := secret.MaskTokens(c.Media[i].URL); url != c.Media[i].URL {
			c.Media = append([]posthouse.Media{}, c.Media...)
			c.Media[i].URL = url
		}
	}
	return c
}

// masked is a text of JSON, whose letters need no escape where one is masked.
func masked(text json.RawMessage) json.RawMessage {
	if shown := secret.MaskTokens(string(text)); !bytes.Equal(text, []byte(shown)) {
		return json.RawMessage(shown)
	}
	return text
}

// hidden masks each of some texts: what went to a provider and came back may repeat a content.
func hidden(texts ...*string) {
	for _, text := range texts {
		*text = secret.MaskTokens(*text)
	}
}

// HideDelivery masks what a delivery repeats of a content.
func HideDelivery(d *posthouse.Delivery) { hidden(&d.Error, &d.ProviderRef) }

// HideEvent masks what an event repeats of a content.
func HideEvent(e *posthouse.Event) { hidden(&e.Error, &e.Ref, &e.Code, &e.Request, &e.Response) }

// HideAttempt masks what an attempt repeats of a content.
func HideAttempt(a *posthouse.Attempt) { hidden(&a.Error, &a.Ref, &a.Code, &a.Request, &a.Response) }

func hideLine(l *work.Line) {
	hidden(&l.Content, &l.Error)
	l.Request, l.Response = masked(l.Request), masked(l.Response)
}

func each[T any](list []T, hide func(*T)) {
	for i := range list {
		hide(&list[i])
	}
}
