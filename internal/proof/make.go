package proof

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Bounds of one statement. What is larger is proven person by person.
const (
	mostDeliveries    = 100
	mostNotifications = 100
	mostBytes         = 8 << 20
)

// Signer signs with the newest key, and knows the public halves of all.
type Signer interface {
	Sign(text []byte) []byte
	PublicKeys() []secret.PublicKey
	Salt(parts ...string) (string, error)
}

// Keys keeps the public keys that have signed.
type Keys interface {
	AddProofKey(ctx context.Context, now time.Time, id, pem string) error
	ProofKeys(ctx context.Context) ([]work.ProofKey, error)
}

// Chain reads what is stored of a message as the hash chain seals it.
type Chain interface {
	chain.Sealed
	// WholeOf is a message with all that is stored of it, nil where there is none.
	WholeOf(ctx context.Context, tenant, id string) (*work.Whole, error)
	// AcksWithin reads the notifications that somebody has acknowledged and whose ids are above one and up to another.
	AcksWithin(ctx context.Context, after, last string) ([]posthouse.Notification, error)
}

// Notifications are those of messages that follow a route.
type Notifications interface {
	Of(ctx context.Context, v work.Viewer, message, cursor string, limit int) (list []posthouse.Notification, says posthouse.Draft, next string, err error)
}

// Contents opens what is sealed.
type Contents interface {
	Reveal(ctx context.Context, tenant, id string) (posthouse.Message, error)
}

// Options are what a Maker works on. All but those that name a default are required.
type Options struct {
	Reader        read.Reader
	Notifications Notifications
	Chain         Chain
	Contents      Contents
	Signer        Signer
	Keys          Keys
	// Version is the program's.
	Version string
	// Sealing says that the server makes the hash chain. Defaults to not.
	Sealing bool
	// Keep is how long settled deliveries are kept; negative keeps all.
	Keep time.Duration
}

// Maker makes proofs.
type Maker struct {
	o     Options
	mu    sync.Mutex
	known string // the id of the key that is kept already
}

// New makes a maker.
func New(o Options) *Maker { return &Maker{o: o} }

// Ask is what a proof is asked for.
type Ask struct {
	Message string
	// Person is whom alone it is to be about: a user or an address. Defaults to all recipients.
	Person string
	// Reveal shows hidden contents. Defaults to digests of them.
	Reveal bool
}

// Make makes a proof of what a viewer sees.
func (m *Maker) Make(ctx context.Context, v work.Viewer, now time.Time, ask Ask) (wire.Proof, error) {
	s, err := m.state(ctx, v, ask)
	if err != nil {
		return wire.Proof{}, err
	}
	return m.sign(ctx, v.Tenant, now, ask, s)
}

// sign signs what is stated.
func (m *Maker) sign(ctx context.Context, tenant string, now time.Time, ask Ask, s wire.ProofStatement) (wire.Proof, error) {
	key := m.signing()
	s.Format, s.MadeAt, s.Server, s.KeyID, s.Tenant, s.Person = wire.ProofFormat, now.UTC(), "Posthouse "+m.o.Version, key.ID, tenant, ask.Person
	s.Notes = notesOf(&s)
	text, err := json.Marshal(s)
	if err != nil {
		return wire.Proof{}, fmt.Errorf("write the statement: %w", err)
	}
	if len(text) > mostBytes {
		return wire.Proof{}, tooMuch(ask, fmt.Sprintf("%d bytes", len(text)), fmt.Sprintf("%d bytes", mostBytes))
	}
	if err := m.keep(ctx, now, key); err != nil {
		return wire.Proof{}, err
	}
	return signed(text, key, m.o.Signer.Sign(text)), nil
}

// signing is the key that signs: the last.
func (m *Maker) signing() secret.PublicKey { return Signing(m.o.Signer) }

// keep has the public key stored before a proof leaves, so that it can be checked when the keyring has lost the key.
func (m *Maker) keep(ctx context.Context, now time.Time, key secret.PublicKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == key.ID {
		return nil
	}
	err := m.o.Keys.AddProofKey(ctx, now, key.ID, key.PEM)
	if err == nil {
		m.known = key.ID
	}
	return err
}

// Keys lists the public keys: those that have signed, the oldest first, and those of the keyring that have not.
func (m *Maker) Keys(ctx context.Context) ([]wire.ProofKey, error) {
	kept, err := m.o.Keys.ProofKeys(ctx)
	if err != nil {
		return nil, err
	}
	list, current := []wire.ProofKey{}, m.signing().ID
	for _, k := range kept {
		keys, err := publicKeys([]byte(k.PEM))
		if err != nil || len(keys) != 1 {
			continue // a row that is not ours
		}
		of := secret.PublicKeyOf(keys[0])
		list = append(list, wire.ProofKey{ID: of.ID, Algorithm: Algorithm, PublicKey: of.PEM, Fingerprint: of.Fingerprint, Since: k.Since, Current: of.ID == current})
	}
	for _, of := range m.o.Signer.PublicKeys() {
		if !slices.ContainsFunc(list, func(k wire.ProofKey) bool { return k.ID == of.ID }) {
			list = append(list, wire.ProofKey{ID: of.ID, Algorithm: Algorithm, PublicKey: of.PEM, Fingerprint: of.Fingerprint, Current: of.ID == current})
		}
	}
	return list, nil
}

// state gathers what is stated.
func (m *Maker) state(ctx context.Context, v work.Viewer, ask Ask) (wire.ProofStatement, error) {
	if !posthouse.ValidID(ask.Message) || posthouse.DeliveryNumber(ask.Message) != 0 {
		return wire.ProofStatement{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no message %.80q", ask.Message)
	}
	found, recipients, err := m.o.Reader.Messages.Message(ctx, v, ask.Message)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return m.routed(ctx, v, ask)
	}
	if err != nil {
		return wire.ProofStatement{}, err
	}
	s := wire.ProofStatement{Message: read.Hidden(found), Recipients: recipients}
	var of []posthouse.Delivery
	err = m.o.Reader.Each(ctx, v, found.ID, func(d *posthouse.Delivery) {
		if len(of) <= mostDeliveries && (ask.Person == "" || d.User == ask.Person || d.Address == ask.Person) {
			of = append(of, *d)
		}
	})
	if err != nil {
		return s, err
	}
	if len(of) == 0 && ask.Person != "" {
		return s, posthouse.Errorf(posthouse.CodeNotFound, "the message means nobody called %.80q", ask.Person)
	}
	if len(of) > mostDeliveries {
		return s, tooMuch(ask, fmt.Sprintf("more than %d deliveries", mostDeliveries), fmt.Sprint(mostDeliveries))
	}
	part, err := m.part(ctx, v, found, of, ask.Reveal)
	s.Parts = []wire.ProofPart{part}
	return s, err
}

// tooMuch is of a message of which one statement cannot say all.
func tooMuch(ask Ask, has, most string) error {
	if ask.Person != "" {
		return posthouse.Errorf(posthouse.CodeConflict, "the message has %s for %.80q, and a proof holds at most %s", has, ask.Person, most)
	}
	return posthouse.Invalid("the proof would be too large", []posthouse.Problem{{
		Path: "query.person", Message: fmt.Sprintf("is missing, and the message has %s, where a proof holds at most %s: name one recipient, such as person=li.na", has, most),
	}})
}

// missing is of a message that is not there: one that is older than what is kept was deleted for its age.
func (m *Maker) missing(id string) error {
	if at := posthouse.IDTime(id); m.o.Keep > 0 && at.Before(time.Now().Add(-m.o.Keep)) && at.After(firstYear) {
		return posthouse.Errorf(posthouse.CodeNotFound,
			"there is no message %.80q. Its id is of %s, and settled messages are deleted after %s: if they were archived before, its history is in the archive of that day", id, at.Format(time.DateOnly), posthouse.Duration(m.o.Keep))
	}
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no message %.80q", id)
}

// firstYear is before the first message: what an id says that is older was never one of ours.
var firstYear = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// routed states what became of a message that follows a route: its notifications, and what their steps sent.
func (m *Maker) routed(ctx context.Context, v work.Viewer, ask Ask) (s wire.ProofStatement, err error) {
	var says posthouse.Draft
	for cursor := ""; ; {
		list, draft, next, err := m.o.Notifications.Of(ctx, v, ask.Message, cursor, mostNotifications)
		if err != nil {
			return s, err
		}
		s.Recipients, says = s.Recipients+len(list), draft
		for i := range list {
			if ask.Person == "" || means(&list[i], ask.Person) {
				s.Notifications = append(s.Notifications, list[i])
			}
		}
		if len(s.Notifications) > mostNotifications || next != "" && ask.Person == "" {
			return s, tooMuch(ask, fmt.Sprintf("more than %d notifications", mostNotifications), fmt.Sprint(mostNotifications))
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	switch {
	case s.Recipients == 0:
		return s, m.missing(ask.Message)
	case len(s.Notifications) == 0:
		return s, posthouse.Errorf(posthouse.CodeNotFound, "the message means nobody called %.80q", ask.Person)
	}
	first := s.Notifications[0]
	s.Message = read.Hidden(posthouse.Message{
		ID: ask.Message, Tenant: v.Tenant, Route: first.Route, Kind: says.Kind, Ref: says.Ref, Priority: says.Priority, Template: says.Template, Payload: says.Payload,
		Source: says.Source, OnUnknown: says.OnUnknown, NotBefore: says.NotBefore, Deadline: says.Deadline, CreatedAt: first.CreatedAt, Sensitive: says.Sensitive,
	})
	if says.Content != nil && !says.Sensitive {
		s.Message.Content = *says.Content
	}
	stored, err := m.o.Chain.AcksWithin(ctx, ask.Message, posthouse.LastDeliveryID(ask.Message))
	if err == nil {
		err = m.acks(ctx, &s, stored, ask.Person)
	}
	if err != nil {
		return s, err
	}
	return s, m.steps(ctx, v, &s, ask)
}

// acks leaves of the notifications what is about a person, where it is about one, and adds what the hash chain says of the acknowledgements
// as they are stored. One that does not show any more whose it is has no row.
func (m *Maker) acks(ctx context.Context, s *wire.ProofStatement, stored []posthouse.Notification, person string) error {
	if person != "" {
		s.Others = alone(s.Notifications, person)
	}
	for i := range s.Notifications {
		n := &s.Notifications[i]
		j := slices.IndexFunc(stored, func(o posthouse.Notification) bool { return o.ID == n.ID && o.Tenant == n.Tenant })
		if n.Ack == nil || j < 0 {
			continue
		}
		e, err := chain.AckEvidenceOf(ctx, m.o.Chain, &stored[j])
		if err != nil {
			return err
		}
		c := m.linkOf(&e)
		if c.State == wire.ProofForgotten && e.Listed { // the link is older than the acknowledgement
			c = wire.ProofChain{State: wire.ProofNotSealed}
		}
		if c.Row = e.Row; e.Row != "" && e.Row != chain.AckText(n) {
			c.Row, c.Masked = "", true
		}
		s.Acks = append(s.Acks, wire.ProofAck{Notification: n.ID, Chain: c})
	}
	return nil
}

// means reports whether a notification is somebody's, or was sent to somebody.
func means(n *posthouse.Notification, person string) bool {
	return slices.ContainsFunc(n.To, func(to posthouse.Recipient) bool { return to.User == person || to.Address == person }) ||
		slices.ContainsFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool { return d.User == person })
}

// steps adds what the steps of notifications sent, message by message.
func (m *Maker) steps(ctx context.Context, v work.Viewer, s *wire.ProofStatement, ask Ask) error {
	of, order, count := map[string][]posthouse.Delivery{}, []string{}, 0
	for i := range s.Notifications {
		for _, sent := range s.Notifications[i].Deliveries {
			d, err := m.o.Reader.Deliveries.Delivery(ctx, v, sent.ID)
			if posthouse.CodeOf(err) == posthouse.CodeNotFound {
				continue // deleted for its age, or not for this viewer: the notification says what it came to
			}
			if err != nil {
				return err
			}
			if count++; count > mostDeliveries {
				return tooMuch(ask, fmt.Sprintf("more than %d deliveries", mostDeliveries), fmt.Sprint(mostDeliveries))
			}
			if of[d.Message] == nil {
				order = append(order, d.Message)
			}
			of[d.Message] = append(of[d.Message], d)
		}
	}
	s.Parts = []wire.ProofPart{}
	for _, id := range order {
		found, _, err := m.o.Reader.Messages.Message(ctx, v, id)
		if err != nil {
			return err
		}
		part, err := m.part(ctx, v, found, of[id], ask.Reveal)
		if err != nil {
			return err
		}
		shown := read.Hidden(found)
		part.Step, part.Message = found.Step, &shown
		s.Parts = append(s.Parts, part)
	}
	return nil
}

// part states what became of deliveries of one message.
func (m *Maker) part(ctx context.Context, v work.Viewer, of posthouse.Message, deliveries []posthouse.Delivery, reveal bool) (p wire.ProofPart, err error) {
	p = wire.ProofPart{ID: of.ID, Deliveries: make([]wire.ProofDelivery, len(deliveries))}
	for i, d := range deliveries {
		if p.Deliveries[i], err = m.delivery(ctx, v, d); err != nil {
			return p, err
		}
	}
	now, err := m.o.Chain.WholeOf(ctx, v.Tenant, of.ID)
	if err != nil {
		return p, err
	}
	if now == nil || now.Message == nil {
		return p, m.missing(of.ID)
	}
	p.Masked = maskedIn(*now.Message)
	if of.Sensitive {
		if p.Hidden, p.Masked, err = m.hidden(ctx, of, reveal); err != nil {
			return p, err
		}
	}
	p.Chain, err = m.evidence(ctx, now, deliveries)
	return p, err
}

func (m *Maker) delivery(ctx context.Context, v work.Viewer, d posthouse.Delivery) (out wire.ProofDelivery, err error) {
	out.Delivery = d
	var more, rest string
	if out.Events, more, err = m.o.Reader.Events(ctx, v, d.ID); err != nil {
		return out, err
	}
	out.Events = slices.Clone(out.Events)
	for i := range out.Events {
		out.Events[i].Request, out.Events[i].Response = "", ""
	}
	out.Attempts, rest, err = m.o.Reader.Attempts(ctx, v, d.ID)
	out.More = more+rest != ""
	if out.Attempts == nil {
		out.Attempts = []posthouse.Attempt{}
	}
	return out, err
}

// hidden stands for a content that is sensitive, and masked has the digests of what is not shown of it even where it is revealed.
func (m *Maker) hidden(ctx context.Context, of posthouse.Message, reveal bool) (h *wire.ProofHidden, masked map[string]string, err error) {
	opened, err := m.o.Contents.Reveal(ctx, of.Tenant, of.ID)
	if posthouse.CodeOf(err) == posthouse.CodeConflict { // it is forgotten, or its key is gone
		return &wire.ProofHidden{Gone: err.Error()}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	opened.Sensitive = false // it was opened to be stated
	shown := read.Hidden(opened)
	text, err := json.Marshal(wire.Revealed{ID: shown.ID, Content: shown.Content, Payload: shown.Payload})
	if err != nil {
		return nil, nil, err
	}
	salt, err := m.o.Signer.Salt(of.Tenant, of.ID)
	if err != nil {
		return nil, nil, err
	}
	h = &wire.ProofHidden{Digest: hiddenDigest(salt, string(text))}
	if reveal {
		h.Salt, h.Text = salt, string(text)
	}
	return h, maskedIn(opened), nil
}

// evidence is what the hash chain says of a message as it is stored, or archived.
func (m *Maker) evidence(ctx context.Context, now *work.Whole, deliveries []posthouse.Delivery) (c wire.ProofChain, err error) {
	e, err := chain.EvidenceOf(ctx, m.o.Chain, now, time.Now(), m.o.Keep)
	if err != nil {
		return c, err
	}
	c = m.linkOf(&e)
	c.Row = unlinked(e.Row)
	c.Masked = c.Row != e.Row
	for _, story := range e.Stories {
		text, row := unlinked(story.Text), unlinked(story.Row)
		masked := text != story.Text || row != story.Row
		story.Text, story.Row = text, row
		if slices.ContainsFunc(deliveries, func(d posthouse.Delivery) bool { return d.ID == story.Delivery }) {
			c.Stories, c.Masked = append(c.Stories, wire.ProofStory(story)), c.Masked || masked
		}
	}
	return c, nil
}

// linkOf is what evidence says of the link, and the line in it.
func (m *Maker) linkOf(e *chain.Evidence) (c wire.ProofChain) {
	switch {
	case e.Link.Seq == 0 && !m.o.Sealing:
		return wire.ProofChain{State: wire.ProofChainOff}
	case e.Link.Seq == 0:
		return wire.ProofChain{State: wire.ProofNotSealed}
	case len(e.Differences) > 0:
		c.State = wire.ProofChanged
	case e.Line == "":
		c.State = wire.ProofForgotten
	default:
		c.State = wire.ProofSealed
	}
	l := e.Link
	c.Link = &wire.ProofLink{Seq: l.Seq, At: l.At, Low: l.Low, High: l.High, Messages: l.Messages, BodyHash: l.BodyHash, Prev: l.Prev, Hash: l.Hash, Text: e.Text}
	c.Line, c.Differences = e.Line, e.Differences
	return c
}

// The notes, by their words.
func noteTexts() map[string]string {
	return map[string]string{
		"content_hidden":    "The message is sensitive: a digest stands for its content. Whoever knows the salt and the text can compare them.",
		"content_gone":      "The message is sensitive, and its content is no longer kept: there is not even a digest of it.",
		"deliveries_gone":   "Some deliveries are not stated: they were deleted for their age, or the key may not see them.",
		"still_open":        "A delivery or a notification was still open when the statement was made: it may go on.",
		"chain_off":         "The server makes no hash chain: what is stated is what its database said at made_at.",
		"not_sealed":        "No link of the hash chain has sealed this yet: what is stated is what the database said at made_at.",
		"behind_seal":       "Events have followed since the last link sealed this: they are stated, and not sealed yet.",
		"chain_changed":     "What is stored is not what was sealed: see differences. Something was changed behind the program's back.",
		"chain_forgotten":   "A link sealed this, and what it sealed is too old to be kept: it can no longer be compared.",
		"link_body":         "The list that the link sealed names messages of others and is left out: that the line stands in it is the server's word. posthouse verify checks it at the database.",
		"ack_not_chained":   "An acknowledgement stands in no list of the hash chain that is kept: the signature alone covers it.",
		"ack_chain_alone":   "Of a notification the hash chain seals who acknowledged it, when and how. Whether somebody was told follows from the deliveries, which it seals too.",
		"person_only":       "The statement is about one recipient alone.",
		"others_unnamed":    "Others were meant or addressed too. The statement counts them and does not name them.",
		"links_masked":      "Links and keys by which the recipient acts stand as ***: whoever reads them could act as the recipient. The statement has the SHA-256 of each whole text that was sent, in masked.",
		"chain_masked":      "Texts that the hash chain has sealed and that hold such a link are left out. posthouse verify compares them at the database.",
		"history_shortened": "A delivery has more history than one statement has room for.",
		"from_archive":      "What is stated was read from an archive, whose signature is good: see archive. The database may have it no more.",
		"archive_bounds":    "An archive holds no hidden contents, and notifications as they stood when it was written, or none where it is of an earlier version: what came later is not stated.",
		"archive_unsealed":  "No link of the hash chain that is kept has sealed this: what is stated is what the archive says.",
	}
}

// notesOf are what a reader must know of a statement's bounds.
func notesOf(s *wire.ProofStatement) []wire.ProofNote {
	archived := s.Archive != nil
	said := map[string]bool{"person_only": s.Person != "", "ack_chain_alone": len(s.Notifications) > 0, "from_archive": archived, "archive_bounds": archived}
	said["others_unnamed"] = s.Others > 0
	stated := 0
	for i := range s.Notifications {
		said["still_open"] = said["still_open"] || s.Notifications[i].State == posthouse.NotificationWaiting
		stated -= len(s.Notifications[i].Deliveries)
	}
	for i := range s.Acks {
		c := &s.Acks[i].Chain
		said["ack_not_chained"] = said["ack_not_chained"] || c.State != wire.ProofSealed && c.State != wire.ProofChanged
		said["chain_changed"], said["link_body"] = said["chain_changed"] || c.State == wire.ProofChanged, said["link_body"] || c.Line != ""
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		stated += len(p.Deliveries)
		for j := range p.Deliveries {
			said["still_open"] = said["still_open"] || p.Deliveries[j].Delivery.State.Open()
			said["history_shortened"] = said["history_shortened"] || p.Deliveries[j].More
		}
		if h := p.Hidden; h != nil {
			said["content_hidden"] = said["content_hidden"] || h.Digest != "" && h.Text == ""
			said["content_gone"] = said["content_gone"] || h.Gone != ""
		}
		said["links_masked"] = said["links_masked"] || len(p.Masked) > 0
		said["chain_masked"] = said["chain_masked"] || p.Chain.Masked
		noteChain(&p.Chain, said)
	}
	if len(s.Notifications) == 0 && s.Person == "" {
		stated -= s.Recipients
	}
	if archived && (said["chain_off"] || said["not_sealed"]) {
		said["chain_off"], said["not_sealed"], said["archive_unsealed"] = false, false, true
	}
	said["deliveries_gone"] = stated < 0 && (s.Person == "" || len(s.Notifications) > 0)
	notes, texts := []wire.ProofNote{}, noteTexts()
	for code, is := range said {
		if is {
			notes = append(notes, wire.ProofNote{Code: code, Text: texts[code]})
		}
	}
	slices.SortFunc(notes, func(a, b wire.ProofNote) int { return cmp.Compare(a.Code, b.Code) })
	return notes
}

func noteChain(c *wire.ProofChain, said map[string]bool) {
	switch c.State {
	case wire.ProofChainOff:
		said["chain_off"] = true
	case wire.ProofNotSealed:
		said["not_sealed"] = true
	case wire.ProofChanged:
		said["chain_changed"] = true
	case wire.ProofForgotten:
		said["chain_forgotten"] = true
	case wire.ProofSealed:
	}
	said["link_body"] = said["link_body"] || c.Line != ""
	for _, story := range c.Stories {
		said["behind_seal"] = said["behind_seal"] || story.Behind > 0
	}
}
