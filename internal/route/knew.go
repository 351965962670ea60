package route

import (
	"cmp"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// Knew answers in one sentence whether a person, by the user or the address, knew of a notification by a time. at writes times as whoever asks
// reads them.
func Knew(n *posthouse.Notification, person string, by time.Time, at func(time.Time) string) string {
	switch state, when := n.KnownBy(person, by); state {
	case posthouse.NotificationAcknowledged:
		return fmt.Sprintf("%s knew at %s: acknowledged by %s", person, at(when), wayOf(n.Ack.Via))
	case posthouse.NotificationTold:
		if n.Ack != nil && n.Ack.By != person && !n.Ack.At.After(by) {
			return fmt.Sprintf("%s was told at %s by %s, and %s acknowledged it at %s", person, at(when), channelOf(n, n.ToldBy), n.Ack.By, at(n.Ack.At))
		}
		return fmt.Sprintf("%s was told at %s by %s, and had not acknowledged it by %s", person, at(when), channelOf(n, n.ToldBy), at(by))
	}
	return fmt.Sprintf("%s did not know by %s: %s", person, at(by), unaware(n, person, by, at))
}

// unaware says why a person did not know of a notification by a time, and what came later.
func unaware(n *posthouse.Notification, person string, by time.Time, at func(time.Time) string) string {
	switch {
	case n.Ack != nil && n.Ack.By == person:
		return fmt.Sprintf("acknowledged by %s at %s, which is later", wayOf(n.Ack.Via), at(n.Ack.At))
	case n.Ack != nil && n.Ack.At.After(by):
		return fmt.Sprintf("taken note of by %s at %s, which is later", n.Ack.By, at(n.Ack.At))
	case n.Ack != nil:
		return fmt.Sprintf("taken note of by %s at %s", n.Ack.By, at(n.Ack.At))
	case n.ToldUser == person && !n.ToldAt.IsZero():
		return fmt.Sprintf("told at %s, which is later", at(n.ToldAt))
	case n.ToldUser != "":
		return fmt.Sprintf("%s was told at %s", n.ToldUser, at(n.ToldAt))
	}
	var last *posthouse.NotificationDelivery
	for i := range n.Deliveries {
		if d := &n.Deliveries[i]; d.User == person && !d.At.After(by) {
			last = d
		}
	}
	switch {
	case last != nil:
		return fmt.Sprintf("its message by %s was %s at %s", last.Channel, last.State, at(last.At))
	case n.State == posthouse.NotificationWaiting && !n.NextAt.IsZero():
		return fmt.Sprintf("the next step begins at %s", at(n.NextAt))
	case n.Reason != "":
		return fmt.Sprintf("the reason is %s", n.Reason)
	}
	return "nothing has been sent yet"
}

// wayOf is the way of an acknowledgement in words.
func wayOf(via posthouse.AckVia) string {
	switch via {
	case posthouse.AckAPI:
		return "API, command or console"
	case posthouse.AckLink:
		return "the link"
	case posthouse.AckCard:
		return "the button of a card"
	case posthouse.AckMail:
		return "an answer to the mail"
	case posthouse.AckSMS:
		return "a text message"
	case posthouse.AckVoice:
		return "a key in the call"
	}
	return string(via)
}

// channelOf is the channel of a delivery of a notification.
func channelOf(n *posthouse.Notification, delivery string) string {
	for i := range n.Deliveries {
		if n.Deliveries[i].ID == delivery {
			return n.Deliveries[i].Channel
		}
	}
	return cmp.Or(n.Route, "its route")
}
