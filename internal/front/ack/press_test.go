package ack

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// A key and a link that were made before a revocation are void, and those made after it are good.
func TestWhatIsRevokedAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	made := claim{Until: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC).Add(Valid).Unix()}
	for after, want := range map[time.Duration]bool{-time.Minute: false, -time.Second: false, 300 * time.Millisecond: true, time.Hour: true} {
		n := posthouse.Notification{LinksRevokedAt: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC).Add(after)}
		if got := made.revoked(&n); got != want {
			t.Errorf("revoked %s after it was made: %t", after, got)
		}
	}
	if made.revoked(&posthouse.Notification{}) {
		t.Error("without a revocation it is void")
	}
	ring, err := secret.New(secret.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	l := &Links{Sealer: ring, Log: slog.New(slog.DiscardHandler)}
	key, err := l.Key("t1", "N1", "li.na")
	if err != nil {
		t.Fatal(err)
	}
	b := &book{posthouse.Notification{LinksRevokedAt: time.Now().Add(time.Second)}}
	l.Book = b
	b.LinksRevokedAt, b.State = time.Time{}, posthouse.NotificationNotTold
	if over, err := l.Pressed(t.Context(), "t1", &posthouse.FeedEvent{Channel: "c", Callback: &posthouse.CallbackEvent{Key: key}}); err != nil || !over || b.Ack == nil {
		t.Errorf("of what is over: %v, %+v, %v; want the press kept, and that it is over", over, b.Ack, err)
	}
	b.LinksRevokedAt, b.Ack = time.Now().Add(time.Second), nil
	if _, err := l.Pressed(t.Context(), "t1", &posthouse.FeedEvent{Channel: "c", Callback: &posthouse.CallbackEvent{Key: key}}); posthouse.CodeOf(err) != posthouse.CodeNotFound || b.Ack != nil {
		t.Errorf("a key that was revoked acknowledges: %+v, %v", b.Ack, err)
	}
}

// book is one notification.
type book struct{ posthouse.Notification }

func (b *book) Get(context.Context, work.Viewer, string) (posthouse.Notification, error) {
	return b.Notification, nil
}

func (b *book) Acknowledge(_ context.Context, v work.Viewer, id, by string, via posthouse.AckVia, evidence json.RawMessage) (posthouse.Notification, error) {
	b.Tenant, b.ID, b.Ack = v.Tenant, id, &posthouse.Acknowledgement{By: by, Via: via, Evidence: evidence}
	return b.Notification, nil
}

// A key acknowledges in whichever part of the event the provider puts it, and only in its own tenant. The acknowledgement names the user who
// pressed the button, or the provider's name of that person. The token of a link is no key.
func TestAKeyAcknowledgesWhereverItIsTold(t *testing.T) {
	t.Parallel()
	ring, err := secret.New(secret.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	l := &Links{Sealer: ring, Log: slog.New(slog.DiscardHandler), PublicURL: "https://post.example"}
	key, err := l.Key("t1", "N1", "li.na")
	if err != nil {
		t.Fatal(err)
	}
	link, err := l.Link("t1", "N1", "li.na")
	if err != nil {
		t.Fatal(err)
	}
	told := func(key string, fields map[string]string, user string) *posthouse.FeedEvent {
		return &posthouse.FeedEvent{Channel: "c", User: user, Callback: &posthouse.CallbackEvent{Event: "card.action.trigger", Address: "ou_1", Key: key, Fields: fields}}
	}
	for _, test := range []struct {
		name, tenant, by string
		event            *posthouse.FeedEvent
	}{
		{"the key of a button", "t1", "ou_1", told(key, nil, "")},
		{"a value of a button", "t1", "wang.wei", told("submit", map[string]string{"a": "b", "value.key": key, "z": "y"}, "wang.wei")},
		{"another tenant's", "t2", "", told(key, nil, "")},
		{"a key that is none", "t1", "", told("ack.rubbish", nil, "")},
		{"another button", "t1", "", told("approve", map[string]string{"value.key": "x"}, "")},
		{"the token of a link", "t1", "", told(keyMark+strings.TrimPrefix(link, "https://post.example"+Path), nil, "")},
	} {
		b := &book{}
		l.Book = b
		if _, err := l.Pressed(t.Context(), test.tenant, test.event); err != nil && (test.by != "" || posthouse.CodeOf(err) != posthouse.CodeNotFound) {
			t.Errorf("%s: %v", test.name, err)
		}
		got := ""
		if b.Ack != nil {
			got = b.Ack.By
		}
		if got != test.by || got != "" && (b.Tenant != "t1" || b.ID != "N1" || b.Ack.Via != posthouse.AckCard || !strings.Contains(string(b.Ack.Evidence), "ou_1")) {
			t.Errorf("%s: acknowledged as %+v, want by %q", test.name, b.Ack, test.by)
		}
	}
}

// A press on a card of what is over acknowledges, and whoever pressed hears that it is over.
func TestAPressSaysThatItIsOver(t *testing.T) {
	t.Parallel()
	ring, err := secret.New(secret.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, resolved := range []time.Time{{}, time.Now()} {
		b := &book{posthouse.Notification{ID: "N1", Tenant: "t1", ResolvedAt: resolved}}
		l := &Links{Sealer: ring, Log: slog.New(slog.DiscardHandler), Book: b}
		key, err := l.Key("t1", "N1", "li.na")
		if err != nil {
			t.Fatal(err)
		}
		over, err := l.Pressed(t.Context(), "t1", &posthouse.FeedEvent{Channel: "c", Callback: &posthouse.CallbackEvent{Key: key}})
		if err != nil || over == resolved.IsZero() || b.Ack == nil {
			t.Errorf("resolved at %s: over is %t, %v, acknowledged as %+v", resolved, over, err, b.Ack)
		}
	}
}

// users are those who have some names.
type users []posthouse.User

func (a users) User(_ context.Context, _, id string) (posthouse.User, error) {
	for _, u := range a {
		if u.ID == id {
			return u, nil
		}
	}
	return posthouse.User{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no user %q", id)
}

func (a users) UsersAt(_ context.Context, _ string, names []string) (list []posthouse.User, err error) {
	for _, u := range a {
		for _, address := range u.Addresses {
			if slices.Contains(names, address) {
				list = append(list, u)
			}
		}
	}
	return list, nil
}

// A card that was sent to one person is acknowledged by that person alone. One for any of several, or in a group, is acknowledged by whoever
// presses it, who is named as a user where the directory knows the address. What cannot be compared is kept as the provider names it.
func TestACardNamesWhoeverPressedIt(t *testing.T) {
	t.Parallel()
	one, several := []posthouse.Recipient{{User: "li.na"}}, []posthouse.Recipient{{User: "li.na"}, {User: "wang.wei"}}
	folk := users{{ID: "li.na", Addresses: map[string]string{"c": "ou_li"}}, {ID: "wang.wei", Addresses: map[string]string{"c": "ou_wang"}}, {ID: "zhao", Addresses: map[string]string{"other": "ou_x"}}}
	for _, test := range []struct {
		name      string
		to        []posthouse.Recipient
		sentTo    string // the delivery's address
		presser   string
		directory Directory
		by        string // empty for refused
	}{
		{"the person's own", one, "ou_li", "ou_li", nil, "li.na"},
		{"another's press of a person's own", one, "ou_li", "ou_wang", folk, ""},
		{"a stranger's press of a person's own", one, "ou_li", "ou_stranger", nil, ""},
		{"one for several, pressed by another of them", several, "ou_li", "ou_wang", folk, "wang.wei"},
		{"one for several, pressed by a stranger", several, "ou_li", "ou_x", folk, "ou_x"},
		{"one for whoever the route names", nil, "ou_li", "ou_wang", folk, "wang.wei"},
		{"a group's, pressed by a user", one, "oc_group", "ou_wang", folk, "wang.wei"},
		{"a group's, pressed by one who is not known", one, "oc_group", "ou_member", folk, "ou_member"},
		{"by mail address, pressed by one who is not known", one, "li@example.org", "ou_member", nil, "ou_member"},
		{"by mail address, pressed by the person", one, "li@example.org", "ou_li", folk, "li.na"},
		{"by mail address, pressed by another one", one, "li@example.org", "ou_wang", folk, ""},
		{"where the provider names nobody", one, "ou_li", "", folk, "li.na"},
	} {
		d := posthouse.Delivery{ID: "D1", Tenant: "t1", Channel: "c", Notification: "N1"}
		d.User, d.Address = "li.na", test.sentTo
		b := &book{posthouse.Notification{ID: "N1", Tenant: "t1", To: test.to, Deliveries: []posthouse.NotificationDelivery{{ID: "D1", Channel: "c", User: "li.na"}}}}
		ring, err := secret.New(secret.GenerateKey())
		if err != nil {
			t.Fatal(err)
		}
		l := &Links{Sealer: ring, Log: slog.New(slog.DiscardHandler), Book: b, Deliveries: sent{"D1": d}, Directory: test.directory, Presser: func(_, _, address string, e *posthouse.CallbackEvent) channel.Presser {
			switch {
			case strings.HasPrefix(address, "oc_"):
				return channel.PresserMember
			case strings.Contains(address, "@"):
				return channel.PresserUnknown
			}
			return channel.SamePresser(address, e)
		}}
		key, err := l.Key("t1", "N1", "li.na")
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Pressed(t.Context(), "t1", &posthouse.FeedEvent{Tenant: "t1", Channel: "c", Callback: &posthouse.CallbackEvent{Event: "press", Address: test.presser, Key: key}})
		got := ""
		if b.Ack != nil {
			got = b.Ack.By
		}
		if got != test.by || (posthouse.CodeOf(err) == posthouse.CodeForbidden) != (test.by == "") {
			t.Errorf("%s: acknowledged by %q (%v), want %q", test.name, got, err, test.by)
		}
		if got != "" && !strings.Contains(string(b.Ack.Evidence), test.presser) || got != "" && got != "li.na" && !strings.Contains(string(b.Ack.Evidence), `"sent_to":"li.na"`) {
			t.Errorf("%s: the evidence is %s", test.name, b.Ack.Evidence)
		}
	}
}

// sent are deliveries by their ids.
type sent map[string]posthouse.Delivery

func (s sent) Delivery(_ context.Context, tenant, id string) (posthouse.Delivery, error) {
	if d, is := s[id]; is && d.Tenant == tenant {
		return d, nil
	}
	return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeNotFound, "there is none")
}

func to(id, user, notification string) posthouse.Delivery {
	d := posthouse.Delivery{ID: id, Tenant: "t1", Channel: "mail", Notification: notification}
	d.User, d.Address = user, "li.na@example.org"
	return d
}

// An answer acknowledges for whoever its delivery was for, and only where it comes from that address, on that channel and in that tenant.
func TestAnAnswerAcknowledgesForItsRecipient(t *testing.T) {
	t.Parallel()
	l := &Links{Log: slog.New(slog.DiscardHandler), Deliveries: sent{
		"D1": to("D1", "li.na", "N1"), "D2": to("D2", "", "N1"), "D3": to("D3", "", ""),
	}}
	in := channel.Inbound{Way: channel.InboundMail, IdemKey: "D1", Address: "Li.Na@example.org", Text: "Re: Disk full", ID: "7@example.org"}
	for _, test := range []struct {
		name, tenant, channel, by string
		but                       func(in *channel.Inbound)
	}{
		{"the user's", "t1", "mail", "li.na", func(*channel.Inbound) {}},
		{"an address's", "t1", "mail", "li.na@example.org", func(in *channel.Inbound) { in.IdemKey = "D2" }},
		{"a program's", "t1", "mail", "", func(in *channel.Inbound) { in.Automatic = true }},
		{"a stranger's", "t1", "mail", "", func(in *channel.Inbound) { in.Address = "wang.wei@example.org" }},
		{"one to a message of no route", "t1", "mail", "", func(in *channel.Inbound) { in.IdemKey = "D3" }},
		{"one to nothing", "t1", "mail", "", func(in *channel.Inbound) { in.IdemKey = "D9" }},
		{"another tenant's", "t2", "mail", "", func(*channel.Inbound) {}},
		{"another channel's", "t1", "sms", "", func(*channel.Inbound) {}},
	} {
		b, said := &book{}, in
		l.Book = b
		test.but(&said)
		if err := l.Answered(t.Context(), test.tenant, test.channel, said); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		got := ""
		if b.Ack != nil {
			got = b.Ack.By
		}
		if got != test.by || got != "" && (b.ID != "N1" || b.Ack.Via != posthouse.AckMail || !strings.Contains(string(b.Ack.Evidence), "7@example.org") || strings.Contains(string(b.Ack.Evidence), "Disk full")) {
			t.Errorf("%s: acknowledged as %+v, want by %q", test.name, b.Ack, test.by)
		}
	}
}

func (s sent) Answerable(_ context.Context, _, _, address string, _ int) (ids []string, err error) {
	for id, d := range s {
		if d.Address == address {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// shelf are notifications by their ids.
type shelf map[string]posthouse.Notification

func (s shelf) Get(_ context.Context, _ work.Viewer, id string) (posthouse.Notification, error) {
	return s[id], nil
}

func (s shelf) Acknowledge(_ context.Context, _ work.Viewer, id, by string, via posthouse.AckVia, evidence json.RawMessage) (posthouse.Notification, error) {
	n := s[id]
	n.Ack = &posthouse.Acknowledgement{By: by, Via: via, Evidence: evidence}
	s[id] = n
	return n, nil
}

// A word by text message acknowledges the only notification that waits for its number, and a code the one that it names. What could mean
// several, what is no such word, and what was written before the notification was sent acknowledge nothing.
func TestATextMessageMeansOneNotification(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	texted := func(id, notification string, after time.Duration) posthouse.Delivery {
		d := posthouse.Delivery{ID: id, Tenant: "t1", Channel: "sms", Notification: notification, Attempts: 1, CreatedAt: at.Add(after)}
		d.User, d.Address = "li.na", "+8613800138000"
		return d
	}
	missed := posthouse.Notification{State: posthouse.NotificationNotTold, Reason: "cancelled"}
	waits, told, done := posthouse.Notification{State: posthouse.NotificationWaiting}, posthouse.Notification{State: posthouse.NotificationTold}, posthouse.Notification{State: posthouse.NotificationAcknowledged, Ack: &posthouse.Acknowledgement{By: "x"}}
	one := sent{"D1": texted("D1", "N1", 0), "D2": texted("D2", "N1", time.Second), "D3": texted("D3", "N3", 0), "D4": texted("D4", "N4", 0)}
	for _, test := range []struct {
		name, text string
		way        channel.InboundWay
		second     posthouse.Notification // N3: N1 waits, or was missed as it was, and N4 is acknowledged
		after      time.Duration
		want       string
	}{
		{"a word", "收到。", channel.InboundSMS, told, time.Minute, "N1"},
		{"a wide digit", " １ ", channel.InboundSMS, told, time.Minute, "N1"},
		{"an English word", "ok!", channel.InboundSMS, told, time.Minute, "N1"},
		{"a word where two wait", "1", channel.InboundSMS, waits, time.Minute, ""},
		{"a word and a code", "1 " + Code("N3"), channel.InboundSMS, waits, time.Minute, "N3"},
		{"a word with its code", "收到" + Code("N1"), channel.InboundSMS, waits, time.Minute, "N1"},
		{"a code alone", Code("N3"), channel.InboundSMS, told, time.Minute, "N3"},
		{"the code of one that is acknowledged", Code("N4"), channel.InboundSMS, told, time.Minute, ""},
		{"a sentence", "who is this?", channel.InboundSMS, told, time.Minute, ""},
		{"a denial", "2", channel.InboundSMS, told, time.Minute, ""},
		{"nothing", " ", channel.InboundSMS, told, time.Minute, ""},
		{"a word where one waits and one was missed", "1", channel.InboundSMS, missed, time.Minute, "N1"},
		{"the code of one that was missed", Code("N3"), channel.InboundSMS, missed, time.Minute, "N3"},
		{"a late word where one was missed", "1 late", channel.InboundSMS, told, time.Minute, "N1"},
		{"a late word where two were missed", "1 late", channel.InboundSMS, missed, time.Minute, ""},
		{"an old word", "1", channel.InboundSMS, told, -time.Minute, ""},
		{"a key", "1", channel.InboundVoice, told, 0, "N1"},
		{"a key twice", "11#", channel.InboundVoice, told, 0, "N1"},
		{"another key", "2", channel.InboundVoice, told, 0, ""},
		{"a key among others", "12", channel.InboundVoice, told, 0, ""},
	} {
		book := shelf{"N1": waits, "N3": test.second, "N4": done}
		text, late := strings.CutSuffix(test.text, " late") // the last step of N1 is over too
		if late {
			book["N1"] = missed
		}
		for id, n := range book {
			n.ID = id
			book[id] = n
		}
		l := &Links{Log: slog.New(slog.DiscardHandler), Deliveries: one, Sent: one, Book: book, Meant: meanings{}}
		in := channel.Inbound{Way: test.way, Text: text, Address: "+8613800138000", At: at.Add(test.after)}
		if test.way == channel.InboundVoice {
			in.IdemKey = "D1"
		}
		if err := l.Answered(t.Context(), "t1", "sms", in); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		got := ""
		for _, id := range []string{"N1", "N3"} {
			if a := book[id].Ack; a != nil {
				got += id
				if a.By != "li.na" || a.Via != vias[test.way] || !strings.Contains(string(a.Evidence), "+8613800138000") {
					t.Errorf("%s: it is %+v with %s", test.name, a, a.Evidence)
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: acknowledged is %q, want %q", test.name, got, test.want)
		}
	}
}

// An answer that its provider tells again acknowledges no second notification, also where another one is the only one that waits by then. Another
// answer of the same person does.
func TestAnAnswerThatIsToldAgainAcknowledgesNoOther(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	const number = "+8613800138000"
	texted := func(id, notification string) posthouse.Delivery {
		d := posthouse.Delivery{ID: id, Tenant: "t1", Channel: "sms", Notification: notification, Attempts: 1, CreatedAt: at, FirstStartAt: at}
		d.User, d.Address = "li.na", number
		return d
	}
	deliveries := sent{"D1": texted("D1", "N1"), "D2": texted("D2", "N2")}
	book := shelf{"N1": {ID: "N1", State: posthouse.NotificationWaiting}, "N2": {ID: "N2", State: posthouse.NotificationTold}}
	l := &Links{Log: slog.New(slog.DiscardHandler), Deliveries: deliveries, Sent: deliveries, Book: book, Meant: meanings{}}
	answer := func(id string, after time.Duration) {
		t.Helper()
		if err := l.Answered(t.Context(), "t1", "sms", channel.Inbound{Way: channel.InboundSMS, Text: "1", Address: number, ID: id, At: at.Add(after)}); err != nil {
			t.Fatal(err)
		}
	}
	answer("7", time.Minute)
	if book["N1"].Ack == nil || book["N2"].Ack != nil {
		t.Fatalf("acknowledged: %+v, want N1", book)
	}
	n := book["N1"]
	n.State = posthouse.NotificationAcknowledged
	book["N1"], book["N2"] = n, posthouse.Notification{ID: "N2", State: posthouse.NotificationWaiting}
	if answer("7", time.Minute); book["N2"].Ack != nil {
		t.Error("an answer that was told again has acknowledged another notification")
	}
	late := deliveries["D2"]
	late.FirstStartAt = at.Add(time.Hour) // it was made before the answer, and has waited
	deliveries["D2"] = late
	if answer("8", time.Minute); book["N2"].Ack != nil {
		t.Error("an answer has acknowledged what was sent after it was written")
	}
	if answer("9", 2*time.Hour); book["N2"].Ack == nil {
		t.Error("another answer acknowledges nothing")
	}
}

// Of two processes that hear one answer at once, and find different notifications since one ended between, the first decides for both.
func TestTwoProcessesTakeAnAnswerForOneNotification(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	const number = "+8613800138000"
	deliveries, kept := sent{}, meanings{}
	for _, id := range []string{"1", "2"} {
		d := posthouse.Delivery{ID: "D" + id, Tenant: "t1", Channel: "sms", Notification: "N" + id, Attempts: 1, CreatedAt: at}
		d.User, d.Address = "li.na", number
		deliveries[d.ID] = d
	}
	ended := shelf{"N1": {ID: "N1", State: posthouse.NotificationNotTold}, "N2": {ID: "N2", State: posthouse.NotificationWaiting}}
	in := channel.Inbound{Way: channel.InboundSMS, Text: "1", Address: number, ID: "7", At: at.Add(time.Minute)}
	faster := &Links{Log: slog.New(slog.DiscardHandler), Deliveries: deliveries, Sent: deliveries, Meant: kept, Book: shelf{
		"N1": {ID: "N1", State: posthouse.NotificationWaiting}, "N2": {ID: "N2", State: posthouse.NotificationTold},
	}}
	l := &Links{Log: slog.New(slog.DiscardHandler), Deliveries: deliveries, Sent: deliveries, Book: ended, Meant: beaten{kept, func() error { return faster.Answered(t.Context(), "t1", "sms", in) }}}
	if err := l.Answered(t.Context(), "t1", "sms", in); err != nil {
		t.Fatal(err)
	}
	if ended["N1"].Ack == nil || ended["N2"].Ack != nil {
		t.Errorf("the slower one acknowledged %+v, want N1, which the faster one took it for", ended)
	}
}

// beaten are meanings of which another process keeps one first.
type beaten struct {
	meanings
	first func() error
}

func (b beaten) KeepAnswer(ctx context.Context, tenant, endpoint, key, hash string, delivery []byte) ([]byte, error) {
	if err := b.first(); err != nil {
		return nil, err
	}
	return b.meanings.KeepAnswer(ctx, tenant, endpoint, key, hash, delivery)
}

// A text that an agent got means what agents have sent to that number by any of its channels, and means the same when it is handed in again.
func TestATextThatAnAgentGotMeansWhatAgentsSent(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	texted := func(id, name, notification string, pulled bool) posthouse.Delivery {
		d := posthouse.Delivery{ID: id, Tenant: "t1", Channel: name, Notification: notification, Attempts: 1, Pulled: pulled, CreatedAt: at}
		d.User, d.Address = "li.na", "+8613800138000"
		return d
	}
	waits := posthouse.Notification{State: posthouse.NotificationWaiting}
	for _, test := range []struct {
		name, text string
		channels   []string
		sent       sent
		want       string // what is acknowledged, twice
	}{
		{"a word", "收到", []string{"sms"}, sent{"D1": texted("D1", "sms", "N1", true)}, "N1"},
		{"one of two channels", "1", []string{"sms", "more"}, sent{"D1": texted("D1", "more", "N1", true)}, "N1"},
		{"both channels", "1", []string{"sms", "more"}, sent{"D1": texted("D1", "sms", "N1", true), "D2": texted("D2", "more", "N2", true)}, ""},
		{"both channels and a code", "1 " + Code("N2"), []string{"sms", "more"}, sent{"D1": texted("D1", "sms", "N1", true), "D2": texted("D2", "more", "N2", true)}, "N2"},
		{"another agent's channel", "1", []string{"more"}, sent{"D1": texted("D1", "sms", "N1", true)}, ""},
		{"what no agent has sent", "1", []string{"sms"}, sent{"D1": texted("D1", "sms", "N1", false)}, ""},
		{"one of two, since a server has sent the other", "1", []string{"sms"}, sent{"D1": texted("D1", "sms", "N1", false), "D2": texted("D2", "sms", "N2", true)}, "N2"},
		{"a sentence", "who is this?", []string{"sms"}, sent{"D1": texted("D1", "sms", "N1", true)}, ""},
		{"a channel that agents do not fetch from", "1", []string{"mail"}, sent{"D1": texted("D1", "mail", "N1", true)}, ""},
	} {
		book := shelf{}
		for _, d := range test.sent {
			n := waits
			n.ID = d.Notification
			book[n.ID] = n
		}
		l := &Links{Log: slog.New(slog.DiscardHandler), Deliveries: test.sent, Sent: byChannel{test.sent}, Book: book, Meant: meanings{}, Fetched: func(_, name, sender string) (string, bool) {
			return "+86" + sender, name != "mail"
		}}
		in := channel.Inbound{Way: channel.InboundSMS, Text: test.text, Address: "13800138000", ID: "phone-1/7", At: at.Add(time.Minute)}
		for again := range 2 {
			acknowledged, err := l.Texted(t.Context(), posthouse.Agent{Tenant: "t1", ID: "phone-1", Channels: test.channels}, in)
			if err != nil || acknowledged != (test.want != "") {
				t.Errorf("%s, %d: it acknowledges is %t, %v", test.name, again, acknowledged, err)
			}
			if again == 0 { // another alarm of before the text waits now: the text does not mean that one
				late := texted("D9", test.channels[0], "N9", true)
				test.sent["D9"] = late
				if test.want != "" {
					book["N9"] = posthouse.Notification{ID: "N9", State: posthouse.NotificationWaiting}
				}
			}
		}
		for id, n := range book {
			if (n.Ack != nil) != (id == test.want) || n.Ack != nil && (n.Ack.By != "li.na" || n.Ack.Via != posthouse.AckSMS || !strings.Contains(string(n.Ack.Evidence), "+8613800138000")) {
				t.Errorf("%s: %s is %+v", test.name, id, n.Ack)
			}
		}
	}
}

// byChannel are deliveries by the channel too.
type byChannel struct{ sent }

func (b byChannel) Answerable(_ context.Context, _, name, address string, _ int) (ids []string, err error) {
	for id, d := range b.sent {
		if d.Address == address && d.Channel == name {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// meanings are kept by the key of an answer.
type meanings map[string]string

func (m meanings) Answer(_ context.Context, tenant, endpoint, key, _ string) ([]byte, bool, error) {
	kept, is := m[tenant+endpoint+key]
	return []byte(kept), is, nil
}

func (m meanings) KeepAnswer(ctx context.Context, tenant, endpoint, key, hash string, delivery []byte) ([]byte, error) {
	if kept, is, _ := m.Answer(ctx, tenant, endpoint, key, hash); is {
		return kept, nil
	}
	m[tenant+endpoint+key] = string(delivery)
	return delivery, nil
}
