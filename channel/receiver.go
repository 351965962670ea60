package channel

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Callback is a request that a provider made to us, as it came. Nothing in it is to be believed before a [Receiver] has
// verified it.
type Callback struct {
	// Method is GET or POST. Providers look with a GET whether an address is ours before they post to it.
	Method string
	Query  url.Values
	Header http.Header
	// Body is bounded by the caller.
	Body []byte
	// At is when it came.
	At time.Time
}

// Receiver is a driver whose provider calls us, such as with what became of a message. Receive is called from many
// goroutines, makes no calls of its own and keeps nothing.
type Receiver interface {
	// Receive verifies a callback, and says what it reports. Whatever is wrong with one is [ErrForged], or wraps it: the
	// caller is told no more than that, and the reason goes to the log.
	Receive(Callback) (Heard, error)
}

// Resender is a Receiver whose provider may fail to deliver for a reason of its own, where one more send, as a new message, may
// reach the recipient.
type Resender interface {
	// Resends reports whether a receipt's code asks for that.
	Resends(code string) bool
}

// ErrForged says that a callback is not shown to be the provider's: its signature is missing or wrong, it is too old, or
// its body cannot be read.
var ErrForged = errors.New("the callback is not the provider's")

// Page is what a person sees who opens the link by which one gets no more of a channel's messages.
type Page struct {
	Address string // who that is
	// Asks is set where nothing was done yet: the page has a button that posts to the link.
	Asks bool
}

// Heard is what a verified callback says.
type Heard struct {
	// Kind is the provider's word for it, for logs and metrics: an event's name, or "check" for a look at the address.
	Kind string
	// Answer is the body that the provider waits for. Defaults to nothing.
	Answer string
	// Page stands in for the answer where a person has opened a link of ours in a browser. Defaults to none.
	Page *Page
	// Once names the callback among all that are signed alike: one that was heard before is answered in the same way, and
	// is not acted on again. The same name with another body is forged.
	Once string
	// Reports are what became of messages.
	Reports []Report
	// Consents are who wants to be reached by the channel's account, or no more.
	Consents []Consent
	// Events are what else the provider tells, for whoever follows what happens.
	Events []Event
	// Inbound is what recipients sent back. It is no event: what people write is told to no follower.
	Inbound []Inbound
}

// InboundWay is how something was sent back.
type InboundWay string

// The ways.
const (
	InboundMail  InboundWay = "mail"  // a mail
	InboundSMS   InboundWay = "sms"   // a text message
	InboundVoice InboundWay = "voice" // keys that were pressed in a call
)

// Inbound is what a recipient sent back to the channel's account: an answer to a message, or what may be one.
type Inbound struct {
	Way InboundWay
	// IdemKey is Outgoing.IdemKey of what it answers, where the provider brings that back; else the recipient's address says what is meant.
	IdemKey string
	// Address is the sender's, in the form in which the channel keeps addresses; empty where the provider does not say.
	Address string
	// Text is what the person wrote, or the keys. Of a mail it is the subject.
	Text string
	// Automatic is set where a program answered for the person, such as a vacation note.
	Automatic bool
	// ID is the provider's name of it, kept as evidence. Defaults to none.
	ID string
	// At is when it was sent, as the provider says. Defaults to when it came.
	At time.Time
}

// Event is what a provider tells by itself that is no receipt.
type Event struct {
	// Once tells it apart from all others that are told at the same address: a provider that is not answered in time tells it
	// again, and signs it anew.
	Once string
	// Delivery is the first delivery of the call that it is about, as Outgoing had it; empty where the provider does not say.
	Delivery string
	// Refusal is answered in place of Heard.Answer where what was pressed counts for nothing, since the card was meant for somebody else.
	// Defaults to Heard.Answer.
	Refusal string
	// Over is answered in place of Heard.Answer where what was pressed counts, and what the card tells of is over, such as an alert that was
	// resolved. Defaults to Heard.Answer.
	Over string
	// Void is answered in place of Heard.Answer where what was pressed counts for nothing any more: its key was revoked, or is too old.
	Void string
	posthouse.CallbackEvent
}

// Presser is how a person who did something, as the provider names that person, stands to an address.
type Presser string

// How.
const (
	PresserUnknown Presser = ""       // the provider names the person in another way than the address does
	PresserSame    Presser = "same"   // it is the person's
	PresserOther   Presser = "other"  // it is another person's
	PresserMember  Presser = "member" // it is a group's: whoever pressed is one of it
)

// SamePresser is Type.Presser where an address is one person's, and the provider names people as addresses do.
func SamePresser(address string, e *posthouse.CallbackEvent) Presser {
	switch {
	case address == "" || e.Address == "":
		return PresserUnknown
	case strings.EqualFold(address, e.Address):
		return PresserSame
	}
	return PresserOther
}

// Consent says that somebody does not want to be reached any more, or wants to again.
type Consent struct {
	Address string
	In      bool
	// Reason is the provider's word for it.
	Reason string
}

// Report is a receipt that the provider brings by itself. Its Receipt is Known.
type Report struct {
	// Ref is the Result.Ref of the call that sent it.
	Ref string
	// Address is the recipient's, where the provider names it; empty for all of those that one Ref stands for. It is also by what a
	// message is found whose Ref was lost with the process that sent it.
	Address string
	Receipt
}
