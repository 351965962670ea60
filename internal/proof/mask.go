package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/secret"
)

// maskedIn has the SHA-256 of each text of a message that is shown with a mask in it, by the name of its field. A link cannot be found by
// trying, so no salt is needed: whoever got the text compares it.
func maskedIn(of posthouse.Message) map[string]string {
	shown, digests := read.Hidden(of), map[string]string{}
	if of.Sensitive {
		return nil
	}
	for field, pair := range map[string][2]string{
		"title": {of.Content.Title, shown.Content.Title}, "text": {of.Content.Text, shown.Content.Text},
		"extra": {string(of.Content.Extra), string(shown.Content.Extra)}, "payload": {string(of.Payload), string(shown.Payload)},
	} {
		if pair[0] != pair[1] {
			digests[field] = TextDigest(pair[0])
		}
	}
	return digests
}

// TextDigest is the SHA-256 of a text, in hexadecimal, by which the one that was sent is known again.
func TextDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// unlinked is a text that a digest is of, or nothing where it may not be shown: of a text with a mask in it there is no such digest.
func unlinked(text string) string {
	if secret.MaskTokens(text) != text {
		return ""
	}
	return text
}

// alone leaves of notifications what is about one person, and counts the others that they mean or have addressed. A colleague who
// acknowledged, or was told instead, has no name in them.
func alone(list []posthouse.Notification, person string) (others int) {
	own, other := map[string]bool{person: true}, map[string]bool{}
	for i := range list {
		for _, to := range list[i].To {
			if to.User == person || to.Address == person {
				own[to.User], own[to.Address] = true, true
			}
		}
	}
	delete(own, "")
	for i := range list {
		n := &list[i]
		names := []string{n.ToldUser}
		for _, to := range n.To {
			if !own[to.User] && !own[to.Address] {
				names = append(names, nameOf(to))
			}
		}
		for _, d := range n.Deliveries {
			names = append(names, d.User)
		}
		for _, name := range names {
			if name != "" && !own[name] {
				other[name] = true
			}
		}
	}
	for i := range list {
		leave(&list[i], own, other)
	}
	return len(other)
}

func nameOf(to posthouse.Recipient) string {
	if to.User != "" {
		return to.User
	}
	return to.Address
}

// leave takes others out of a notification.
func leave(n *posthouse.Notification, own, other map[string]bool) {
	n.To = slices.DeleteFunc(slices.Clone(n.To), func(to posthouse.Recipient) bool { return !own[to.User] && !own[to.Address] })
	n.Deliveries = slices.DeleteFunc(slices.Clone(n.Deliveries), func(d posthouse.NotificationDelivery) bool { return !own[d.User] })
	if other[n.ToldUser] {
		n.ToldUser = ""
	}
	n.Steps = slices.Clone(n.Steps)
	for i := range n.Steps {
		n.Steps[i].Detail = ofOwn(n.Steps[i].Detail, own, other)
	}
	if n.Ack == nil || own[n.Ack.By] {
		return
	}
	ack := *n.Ack // what came with another one's word may name anybody
	ack.Evidence = nil
	if other[ack.By] {
		ack.By = ""
	}
	n.Ack = &ack
}

// ofOwn is a sentence about the person; one that names another one, or names no one that is known here, is left out.
func ofOwn(text string, own, other map[string]bool) string {
	for name := range other {
		if strings.Contains(text, name) {
			return ""
		}
	}
	for name := range own {
		if strings.Contains(text, name) {
			return text
		}
	}
	return ""
}
