package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/verify/packed"
	"github.com/posthouse/posthouse/internal/verify/scan"
)

// arrival is what is kept of an ArrivalLine.
type arrival struct {
	key             packed.ID // the delivery's key; of an arrival without one, made from the provider's id
	at              int64     // ns
	seq             int64
	provider, fault uint16 // names
	status          uint16
	textAt          uint32 // of sink.texts
	keyLen, userLen uint8
	answer          answer
	keyless         bool
	repeat          bool
	belongs         bool // to a delivery in the log
}

// answer is how an arrival was answered.
type answer uint8

const (
	refused answer = iota
	accepted
	lost
)

var arrivalAnswers = []string{refused: ArrivalRefused, accepted: ArrivalAccepted, lost: ArrivalLost}

// taken reports whether the recipient has one more message now, unless it is a repeat.
func (a *arrival) taken() bool { return a.answer != refused }

// sink is the provider's journal, sorted by key and time.
type sink struct {
	*packed.Packer
	list    []arrival
	names   packed.Names
	texts   []byte // the keys of arrivals that have no delivery's id for one, and their users, for people
	keyless int
}

func readSink(p *packed.Packer, r io.Reader) (*sink, error) {
	k := &sink{Packer: p}
	err := eachLine(nameOf(r, "sink journal"), r, func(s *scan.Line) error {
		a, ok := k.scan(s)
		if ok && s.Err == nil {
			k.list = append(k.list, a)
		}
		return nil
	})
	slices.SortFunc(k.list, func(a, b arrival) int {
		return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	return k, err
}

// scan reads an ArrivalLine. One that its provider could not read has no user and was refused: it is nobody's.
func (k *sink) scan(s *scan.Line) (a arrival, ok bool) {
	var key, ref, user, word string
	var at time.Time
	for s.Field() {
		switch string(s.Name) {
		case "seq":
			a.seq = s.Number()
		case "at":
			at = s.Instant()
		case "provider":
			a.provider = k.names.Number(s.Word())
		case "key":
			key = string(s.Bytes())
		case "user":
			user = string(s.Bytes())
		case "answer":
			word = s.Word()
		case "status":
			a.status = uint16(min(s.Int(), 999))
		case "id":
			ref = string(s.Bytes())
		case "fault":
			a.fault = k.names.Number(s.Word())
		case "repeat":
			a.repeat = s.Bool()
		case "duplicate":
			s.Bool()
		case "path", "account", "title", "text", "code":
			s.Bytes()
		default:
			s.Unknown()
		}
	}
	s.Need("seq", "at", "provider", "path", "user", "text", "answer")
	s.OneOf("answer", word, arrivalAnswers...)
	nobody := key == "" && user == ""
	if nobody && word != ArrivalRefused && s.Err == nil {
		s.Err = fmt.Errorf("user: it is empty, as is the key, and the answer is %s", word)
	}
	a.at = at.UnixNano()
	a.answer = answer(max(0, slices.Index(arrivalAnswers, word)))
	if id, _, isMail := strings.Cut(key, "@"); isMail { // a mail's Message-ID has the sender's domain behind the key
		if _, ours := k.ID(id); ours {
			key = id
		}
	}
	a.key = k.Key(key)
	if key == "" {
		a.keyless, a.key = true, k.Pair("ref", ref)
		k.keyless++
	}
	if !nobody {
		k.keep(&a, key, user)
	}
	return a, !nobody
}

// keep keeps by what a person finds an arrival whose key is no delivery's id.
func (k *sink) keep(a *arrival, key, user string) {
	if _, ok := k.ID(key); ok {
		return
	}
	key, user = key[:min(len(key), 255)], user[:min(len(user), 255)]
	a.textAt, a.keyLen, a.userLen = uint32(len(k.texts)), uint8(len(key)), uint8(len(user))
	k.texts = append(append(k.texts, key...), user...)
}

// keyText and user are what was kept of an arrival.
func (k *sink) keyText(a *arrival) string {
	return string(k.texts[a.textAt : a.textAt+uint32(a.keyLen)])
}

func (k *sink) user(a *arrival) string {
	from := a.textAt + uint32(a.keyLen)
	return string(k.texts[from : from+uint32(a.userLen)])
}

// of are the arrivals of a key, in the order of time.
func (k *sink) of(key packed.ID) []arrival {
	if k == nil {
		return nil
	}
	return packed.Stretch(k.list, key, func(a *arrival) packed.ID { return a.key })
}

// line is an arrival as a line of an excerpt.
func (k *sink) line(a *arrival) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  arrival %d at %s, %s", stampText(time.Unix(0, a.at)), a.seq, cmp.Or(k.names.Word(a.provider), "the provider"), arrivalAnswers[a.answer])
	if a.status != 0 {
		fmt.Fprintf(&b, " with %d", a.status)
	}
	if user := k.user(a); user != "" {
		fmt.Fprintf(&b, ", to %s", user)
	}
	if key := k.keyText(a); key != "" {
		fmt.Fprintf(&b, ", key %s", key)
	}
	if a.fault != 0 {
		fmt.Fprintf(&b, ", fault %s", k.names.Word(a.fault))
	}
	if a.repeat {
		b.WriteString(", recognised as a repeat")
	}
	return b.String()
}
