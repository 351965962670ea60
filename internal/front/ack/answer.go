package ack

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// Deliveries are looked up by what an answer names.
type Deliveries interface {
	Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error)
}

// Sent are the deliveries of notifications that were made for an address on a channel, the newest first: those that may be meant by an
// answer that names none.
type Sent interface {
	Answerable(ctx context.Context, tenant, channel, address string, most int) (ids []string, err error)
}

// Meant keeps what each answer means that names nothing: the first that is kept under a key stays, whichever process comes with it.
type Meant interface {
	Answer(ctx context.Context, tenant, endpoint, key, hash string) (delivery []byte, kept bool, err error)
	KeepAnswer(ctx context.Context, tenant, endpoint, key, hash string, delivery []byte) (kept []byte, err error)
}

// asMeant is where what texts mean is kept, beside what other repeated calls were answered.
const asMeant = "acknowledgements/meant"

// mostMeant bounds how many of the newest deliveries to an address an answer is held against.
const mostMeant = 100

// vias are the ways of answers.
var vias = map[channel.InboundWay]posthouse.AckVia{channel.InboundMail: posthouse.AckMail, channel.InboundSMS: posthouse.AckSMS, channel.InboundVoice: posthouse.AckVoice}

// noted are texts that say that their sender has taken note, with or without the code of a notification, and a code alone.
var noted = regexp.MustCompile(`^(?i:1|Y|YES|OK|ACK|是|好|好的|收到|已收到|知道了|知悉|已知悉|知晓|已知晓|确认|已确认)?[\s,.:]*([1-9][0-9]{3})?$`)

// means reports whether an answer says that its sender has taken note, and the code that it names: any mail that a person wrote, one of a few
// words by text message, and the key 1 in a call.
func means(in *channel.Inbound) (is bool, code string) {
	text := strings.TrimRight(strings.TrimSpace(norm.NFKC.String(in.Text)), "。.!~ ")
	switch in.Way {
	case channel.InboundMail:
		return !in.Automatic, ""
	case channel.InboundVoice:
		keys := strings.TrimRight(text, "#")
		return keys != "" && strings.Trim(keys, "1") == "", ""
	case channel.InboundSMS:
		if m := noted.FindStringSubmatch(text); m != nil && text != "" && !in.Automatic {
			return true, m[1]
		}
	}
	return false, ""
}

// Code tells a notification from others of the same person, in an answer by text message. It keeps nothing secret: the number that an
// answer comes from says which person that is.
func Code(notification string) string {
	sum := sha256.Sum256([]byte(notification))
	return strconv.Itoa(int(1000 + binary.BigEndian.Uint32(sum[:])%9000))
}

// Answered acknowledges a notification where its recipient has answered one of its deliveries. The delivery says which person that is, and
// the answer only counts where it comes from the delivery's address: whatever a stranger writes acknowledges nothing.
func (l *Links) Answered(ctx context.Context, tenant, name string, in channel.Inbound) error {
	log := l.Log.With("tenant", tenant, "channel", name, "way", in.Way, "address", in.Address)
	is, code := means(&in)
	if !is {
		log.Info("an answer acknowledges nothing by what it says, or a program wrote it", "automatic", in.Automatic)
		return nil
	}
	find := l.named
	if in.Way == channel.InboundSMS {
		find = func(ctx context.Context, log *slog.Logger, tenant, name string, in *channel.Inbound) (*posthouse.Delivery, error) {
			return l.meant(ctx, log, tenant, code, in, []line{{channel: name, address: in.Address}})
		}
	}
	d, err := find(ctx, log, tenant, name, &in)
	if err != nil || d == nil {
		return err
	}
	return l.note(ctx, d, &in)
}

// Texted acknowledges a notification where a text message that an agent got answers what agents have sent to that number, by any of its
// channels. It reports whether it did so, now or before.
func (l *Links) Texted(ctx context.Context, a posthouse.Agent, in channel.Inbound) (acknowledged bool, err error) {
	log := l.Log.With("tenant", a.Tenant, "agent", a.ID, "way", in.Way, "address", in.Address)
	is, code := means(&in)
	if !is {
		log.Info("an answer acknowledges nothing by what it says, or a program wrote it", "automatic", in.Automatic)
		return false, nil
	}
	var lines []line
	for _, name := range a.Channels {
		if kept, is := l.Fetched(a.Tenant, name, in.Address); is {
			lines = append(lines, line{channel: name, address: kept, fetched: true})
		}
	}
	d, err := l.meant(ctx, log, a.Tenant, code, &in, lines)
	if err != nil || d == nil {
		return false, err
	}
	in.Address = d.Address
	return true, l.note(ctx, d, &in)
}

// note acknowledges the notification of a delivery that was answered.
func (l *Links) note(ctx context.Context, d *posthouse.Delivery, in *channel.Inbound) error {
	by := d.User
	if by == "" {
		by = d.Address
	}
	if in.Way == channel.InboundMail { // its subject repeats ours, which may be a sensitive message's
		in.Text = ""
	}
	return l.acknowledge(ctx, d.Tenant, d.Notification, by, vias[in.Way], map[string]string{
		"channel": d.Channel, "delivery": d.ID, "address": in.Address, "text": in.Text, "at": writtenAt(in), "id": in.ID,
	})
}

// named is the delivery that an answer names; nil for none, or one that it cannot be an answer to.
func (l *Links) named(ctx context.Context, log *slog.Logger, tenant, name string, in *channel.Inbound) (*posthouse.Delivery, error) {
	d, err := l.delivery(ctx, tenant, in.IdemKey)
	switch {
	case err != nil:
		return nil, err
	case d == nil || d.Channel != name:
		log.Warn("an answer names no delivery of its channel", "answers", in.IdemKey)
		return nil, nil
	case in.Address != "" && !strings.EqualFold(in.Address, d.Address):
		log.Warn("an answer comes from another address than it was sent to: it acknowledges nothing", "delivery", d.ID, "sent_to", d.Address)
		return nil, nil
	case d.Notification == "": // of no route: there is nothing to acknowledge
		return nil, nil
	}
	return d, nil
}

// line is an address by a channel: of what agents have fetched alone, where fetched is set.
type line struct {
	channel, address string
	fetched          bool
}

// meant is the delivery that a text message answers, which names none: of the notifications that were sent by some lines before it was
// written and are not acknowledged, the one with its code; without a code, the only one that waits, or where none does, the only one of which
// nobody was told. nil where that is none, or several: a word too few leads to the next step, and one that is guessed lets an alarm rest.
//
// What an answer means is kept before it acknowledges, nothing too, and holds for good: a provider that has not heard our answer tells it
// again, to this process or to another one, and by then another notification may be the only one that waits.
func (l *Links) meant(ctx context.Context, log *slog.Logger, tenant, code string, in *channel.Inbound, lines []line) (*posthouse.Delivery, error) {
	key := keyOf(in)
	id, kept, err := l.Meant.Answer(ctx, tenant, asMeant, key, "")
	if err != nil {
		return nil, err
	}
	if kept {
		log.Info("an answer by text message was told again: it means what it meant", "delivery", string(id))
		return l.delivery(ctx, tenant, string(id))
	}
	found := candidates{}
	for _, from := range lines {
		ids, err := l.Sent.Answerable(ctx, tenant, from.channel, from.address, mostMeant)
		if err == nil {
			err = l.candidates(ctx, tenant, code, in, ids, from.fetched, found)
		}
		if err != nil {
			return nil, err
		}
	}
	means, among := found.one()
	if means == "" {
		log.Warn("an answer by text message means no notification, or one of several: it acknowledges nothing. Put ${ack_code} into the text, so that people can say which", "code", code, "notifications", among)
	}
	id, err = l.Meant.KeepAnswer(ctx, tenant, asMeant, key, "", []byte(means))
	if err != nil {
		return nil, err
	}
	return l.delivery(ctx, tenant, string(id))
}

// delivery is nil for none, and for one that was pruned.
func (l *Links) delivery(ctx context.Context, tenant, id string) (*posthouse.Delivery, error) {
	if id == "" {
		return nil, nil
	}
	d, err := l.Deliveries.Delivery(ctx, tenant, id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil, nil
	}
	return &d, err
}

// keyOf tells an answer from others: of the same number too, where the provider gives no ids.
func keyOf(in *channel.Inbound) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(in.Way), in.Address, in.ID, writtenAt(in), in.Text}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// candidate is a delivery of a notification that a text may mean, and whether the notification waits.
type candidate struct {
	delivery string
	waits    bool
}

// candidates are those of a text by notification.
type candidates map[string]candidate

// one is the delivery that is meant, empty where that is none or one of several: of those that wait, or where none does, of all.
func (c candidates) one() (delivery string, among int) {
	for _, waits := range []bool{true, false} {
		for _, d := range c {
			if d.waits == waits {
				delivery, among = d.delivery, among+1
			}
		}
		if among > 0 {
			break
		}
	}
	if among != 1 {
		return "", among
	}
	return delivery, among
}

// candidates adds to what is found those of some deliveries that a text may mean.
func (l *Links) candidates(ctx context.Context, tenant, code string, in *channel.Inbound, ids []string, fetched bool, found candidates) error {
	for _, id := range ids {
		d, err := l.delivery(ctx, tenant, id)
		if err != nil {
			return err
		}
		// Providers write whole seconds. One that tells an answer again tells its old time, so that it means nothing that was sent since.
		if d == nil || found[d.Notification].delivery != "" || fetched && !d.Pulled || d.Attempts == 0 || in.At.Add(time.Second).Before(leftAt(d)) || code != "" && code != Code(d.Notification) {
			continue
		}
		n, err := l.Book.Get(ctx, work.Viewer{Tenant: tenant, Sight: work.SeeAll()}, d.Notification)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		if n.Ack == nil && (code != "" || n.State == posthouse.NotificationWaiting || n.State == posthouse.NotificationNotTold) {
			found[d.Notification] = candidate{d.ID, code != "" || n.State == posthouse.NotificationWaiting}
		}
	}
	return nil
}

// leftAt is when a delivery first left, as far as that is known. It may have waited for long before: for quiet hours, a limit or a pause.
func leftAt(d *posthouse.Delivery) time.Time {
	for _, at := range []time.Time{d.FirstStartAt, d.StartedAt} {
		if !at.IsZero() {
			return at
		}
	}
	return d.CreatedAt
}

// writtenAt is when an answer was written, as it is kept.
func writtenAt(in *channel.Inbound) string { return in.At.UTC().Format(time.RFC3339) }

// acknowledge writes down the first word about a notification, also one that has ended. One that was pruned is passed over.
func (l *Links) acknowledge(ctx context.Context, tenant, notification, by string, via posthouse.AckVia, evidence map[string]string) error {
	for name, text := range evidence {
		if text == "" {
			delete(evidence, name)
		}
	}
	kept, err := json.Marshal(evidence)
	if err != nil {
		return err
	}
	v := work.Viewer{Tenant: tenant, Sight: work.SeeAll()}
	n, err := l.Book.Get(ctx, v, notification)
	if err == nil && n.Ack == nil {
		_, err = l.Book.Acknowledge(ctx, v, notification, by, via, kept)
	}
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil
	}
	if err == nil && n.Ack == nil {
		l.Log.Info("a notification was acknowledged", "tenant", tenant, "notification", notification, "by", by, "via", via)
	}
	return err
}
