package channel

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Outgoing is one delivery as a driver sees it: rendered, addressed and ready.
type Outgoing struct {
	Tenant   string
	Channel  string
	Account  string
	Message  string
	Delivery string
	// Recipient's Address is never empty, but for a Type with OwnAddresses.
	Recipient posthouse.Recipient
	Content   posthouse.Content
	Kind      string
	Ref       string
	Priority  posthouse.Priority
	Template  string
	// TemplateID is what the provider calls the template, empty for none.
	TemplateID string
	// Payload is what leaves of the message's: all of it where the message has no template, else what the template or the channel's
	// configuration names. Nil for nothing.
	Payload json.RawMessage
	// IdemKey is the same over all attempts of the delivery: pass it on wherever the
	// provider has a field for it, and as our reference where it has not.
	IdemKey string
	Attempt int // from 1
}

// Result says how one attempt ended. The zero Result is not an answer: the
// engine reads an empty Class as unknown.
type Result struct {
	Class posthouse.Class
	// Code is the provider's code, or one of the kit's: NETWORK_ERROR, API_TIMEOUT, HTTP_503.
	Code string
	// Error is one line for a person, redacted. Empty on success.
	Error string
	// Ref is the provider's id of the message.
	Ref string
	// After is the provider's own wait before another try, 0 if it named none.
	After time.Duration
	// AtOnce is set where the provider refused since too many calls were under way at the same time, to what it counted them
	// of. The class is rate then. Such a refusal parks nothing: fewer calls are made at once from then on.
	AtOnce Scope
	// Delivered is set where the answer itself proves the arrival, so that no receipt is to come.
	Delivered bool
	// Gone is set where the provider says that the recipient's address reaches nobody any more, such as the token of an app that was
	// removed: from then on nothing is sent to it. The class is recipient then.
	Gone bool
	// Unsent is set where the provider has surely seen nothing of it, such as where no connection could be had or no token: it uses up no budget.
	Unsent bool
	// Await is when a Tracker is first to be asked what became of it, 0 for never.
	Await time.Duration
	// Request and Response are excerpts for the log, bounded and redacted.
	Request, Response string
}

// Scope is what a provider counts calls of.
type Scope string

// The scopes.
const (
	OfAccount Scope = "account"
	OfChannel Scope = "channel" // all its accounts together, such as those of one corporation
)

// Driver sends one delivery. Send must respect ctx, must reach the provider at most once
// and must not panic; it is called from many goroutines. A driver that keeps connections is an
// io.Closer too, to be closed when its channel is gone.
type Driver interface {
	Send(ctx context.Context, out Outgoing) Result
}

// BatchDriver sends many deliveries of one message (same content, same account) in one
// provider call; where its type has Shares, they may be of several messages that say the
// same. It answers one Result for each, in order; a delivery the provider's answer
// does not mention is unknown, not failed.
type BatchDriver interface {
	Driver
	SendBatch(ctx context.Context, outs []Outgoing) []Result
}

// Finding is a provider's answer about an attempt that may have arrived.
type Finding string

// The findings.
const (
	Found    Finding = "found"     // it arrived
	Absent   Finding = "absent"    // it surely did not
	NoAnswer Finding = "no_answer" // the provider cannot say
)

// Querier asks a provider whether it has a delivery. A channel whose policy is query needs it.
type Querier interface {
	Query(ctx context.Context, out Outgoing) (Finding, Result)
}

// Tracker is a driver whose provider accepts first and says later what became of it. It is asked about
// deliveries whose Result had Await, some time after they were sent.
type Tracker interface {
	// Track asks about deliveries that share a Result.Ref, and answers one Receipt for each, in order.
	// An error is about the asking; it is asked again later.
	Track(ctx context.Context, ref string, to []posthouse.Recipient) ([]Receipt, error)
}

// Recalled is what became of a message that its provider was asked to take back.
type Recalled string

// What became of it.
const (
	RecallDone    Recalled = "recalled" // the provider shows it no more; also where it was taken back before
	RecallLate    Recalled = "too_late" // the provider takes nothing back that is so old
	RecallRefused Recalled = "failed"
	RecallUnable  Recalled = "not_supported" // what was sent is of a kind that the provider never takes back
	RecallUnknown Recalled = "unknown"       // the provider may have taken it back: the same call may be made again
)

// Recaller is a driver whose provider takes back what it has told.
type Recaller interface {
	// Recall takes back the message of one call, by its Result.Ref; sent is the time of that call. It does so for all recipients of the
	// call: the caller knows which deliveries these are, see [CodeShared]. A second call answers the same. The Result has the provider's
	// words; its class rate or transient says that a later call may end otherwise.
	Recall(ctx context.Context, ref string, sent time.Time) (Recalled, Result)
}

// CodeShared begins the Code of a Result of class ok where one call has told deliveries of several messages, which have its Ref in common.
const CodeShared = "SHARED_CALL"

// SharedCode is the Code of such a call that has told so many deliveries.
func SharedCode(deliveries int) string { return CodeShared + "_OF_" + strconv.Itoa(deliveries) }

// SharedBy reports whether a Code is that of a shared call, and how many deliveries that has told; 0 where the Code does not say it.
func SharedBy(code string) (deliveries int, shared bool) {
	rest, shared := strings.CutPrefix(code, CodeShared)
	deliveries, _ = strconv.Atoi(strings.TrimPrefix(rest, "_OF_"))
	return deliveries, shared
}

// ProviderTemplate is a template that a provider keeps.
type ProviderTemplate struct {
	ID, Title  string
	Parameters []string // the names of what it is filled with, in their order
}

// TemplateLister is a driver whose provider keeps templates, and says which: what lacks a parameter is found before it is sent.
type TemplateLister interface {
	// Templates lists those of the account.
	Templates(ctx context.Context) ([]ProviderTemplate, error)
	// TemplateOf is the id of the one by which a message goes that names so one, or none; empty for no template.
	TemplateOf(named string) string
}

// Receipt says what became of a delivery that was sent. The zero Receipt is: not known yet.
type Receipt struct {
	// Known is whether the provider has said what became of it; Delivered is what.
	Known, Delivered bool
	// Code and Error are the provider's, for what was not delivered.
	Code, Error string
	// Response is an excerpt for the log, bounded and redacted.
	Response string
}

// Lister is a driver whose provider says by itself who can be sent to, such as the followers of an account.
type Lister interface {
	// List lists addresses behind one, from the beginning for none, in an order in which nobody is passed over. more says that others
	// follow. The error is one line for a person, redacted.
	List(ctx context.Context, behind string) (addresses []string, more bool, err error)
}

// Fitter is a driver that knows how long a text its provider takes.
type Fitter interface {
	// Fit says what would be cut or refused of a content. Paths are "title", "text" and "content".
	Fit(c posthouse.Content) []posthouse.Problem
}

// Tokens keeps access tokens for all processes, sealed, and lets one at a time fetch a new one.
type Tokens interface {
	// Token returns the token of that name, after a fetch where there is none that lasts another
	// moment. stale is a token that the provider has refused: it is not returned again.
	Token(ctx context.Context, name, stale string, fetch func(context.Context) (token string, lasts time.Duration, err error)) (string, error)
}

// Tester sends nothing but checks that the provider can be reached and accepts the
// credentials. Drivers without it are tested by a real send to a given address.
type Tester interface {
	Test(ctx context.Context) Result
}

// AddressKind is what the addresses of a channel are. It tells the column that has them in a file of people, which has others beside it, and
// what a spreadsheet has done to them. Whether a text is an address says [Type.Address].
type AddressKind string

// The kinds.
const (
	AddressUser   AddressKind = "user"   // an id that the provider has for a user
	AddressOpenID AddressKind = "openid" // an id that WeChat has for a user of one account
	AddressPhone  AddressKind = "phone"  // a telephone number
	AddressMail   AddressKind = "mail"   // a mail address
	AddressDevice AddressKind = "device" // a token that an app was given on a device
)

// Type describes a driver. It is a value in a table: no driver registers itself.
type Type struct {
	// Name is the driver's name in a channel's configuration.
	Name string
	// Title and TitleZH are what a form calls it; Doc and DocZH say in a sentence what it does.
	Title, TitleZH string
	Doc, DocZH     string
	// Fields describe Config: they draw the form, validate the input and print the docs.
	Fields []Field
	// MaxBatch is the most recipients in one call; 1 for a driver that has no batch.
	// A driver whose batch depends on its configuration answers it in BatchSize.
	MaxBatch  int
	BatchSize func(Config) int
	// Shares reports whether a delivery of a content to an address may share a call with deliveries of other messages that have
	// the same Content, Template, TemplateID and Payload: SendBatch looks at nothing else of a message, and who is one
	// recipient cannot be another as well. Defaults to never.
	Shares func(content posthouse.Content, address string) bool
	// Everyone names the field by which a delivery calls everybody whom the channel reaches, in a way that only this provider has, such
	// as "address" or "content.text", and is empty for one that does not; see [Type.Everybody]. Such a message needs the grant
	// mention_all and counts against the quota of that name. Defaults to never.
	Everyone func(c Config, out Outgoing) (field string)
	// Names are the members of a payload that a configuration asks for: they leave beside those that a message's template names,
	// and nothing else does. Defaults to none.
	Names func(Config) []string
	// Window is how long the provider remembers an idempotency key: 0 never, Forever
	// always. A driver where that depends on the configuration answers it in IdempotencyWindow.
	Window            time.Duration
	IdempotencyWindow func(Config) time.Duration
	// OwnAddresses is set where a user's id is never an address: who has none is handed over without.
	OwnAddresses bool
	// RecipientURLs is set for a driver that calls the URL which a recipient's address is, where its configuration
	// names none and the channel's egress allows it.
	RecipientURLs bool
	// Pull is set where agents fetch what is to be sent, and Send is never called.
	Pull bool
	// Callbacks is set where the driver is a Receiver.
	Callbacks bool
	// Presser says how whoever an event names stands to an address: only a person's own press acknowledges what was sent to that person alone.
	// Defaults to not known.
	Presser func(address string, e *posthouse.CallbackEvent) Presser
	// Receipts reports whether a provider says of each message what became of it, so that one that arrives is delivered in the end. Without
	// them it is sent, and no more is known. Defaults to never; what agents fetch they report of.
	Receipts func(Config) bool
	// Answers is set where what recipients send back reaches Receive as Heard.Inbound, such as an answer by mail or the keys of a call: it
	// acknowledges. Defaults to not; agents hand in answers to what they fetched.
	Answers bool
	// Calls reports whether a text that a channel sends is read aloud in a call. Nobody is called to hear that something is over. Defaults to
	// never.
	Calls func(Config) bool
	// Address is an address as the channel keeps it, such as a phone number in E.164, or says why it is none.
	// It is asked when a message is accepted. Defaults to taking any.
	Address func(c Config, address string) (string, error)
	// Addresses is what the addresses are. AddressesOf answers it for a driver where that depends on the configuration. Defaults to not known, as
	// where they are of several kinds or free texts.
	Addresses   AddressKind
	AddressesOf func(c Config) AddressKind
	// Content says what a channel cannot send of a content that is not a plain text, or is too large for it, with
	// paths below "content". It is asked when a message is accepted. Defaults to [PlainText]: what a driver does
	// not know of is refused, and never left out.
	Content func(c Config, content posthouse.Content) []posthouse.Problem
	// Parameters says what a provider refuses of the parameters with which a message fills one of its templates, with paths below
	// "payload". The plan of a campaign asks it. Defaults to nothing.
	Parameters func(payload json.RawMessage) []posthouse.Problem
	// Takes says what the provider takes as a parameter of one of its templates, by the parameter's name, such as "at most 20 characters",
	// and is empty for one of which nothing is known. Defaults to nothing.
	Takes func(parameter string) string
	// Timeout bounds one call. Defaults to 10s.
	Timeout time.Duration
	// Limits are the provider's documented limits of all that a channel sends, with room left.
	Limits []posthouse.Limit
	// AccountLimits are those of one account, and RecipientLimits those of one recipient.
	AccountLimits, RecipientLimits []posthouse.Limit
	// RecipientLimitsOf answers RecipientLimits for a driver where they depend on the configuration. Defaults to RecipientLimits.
	RecipientLimitsOf func(Config) []posthouse.Limit
	// Check finds what no single field can show: fields that exclude each other, a template
	// that does not parse. Paths are relative to the configuration ("body", "headers.X-Key").
	Check func(Config) []posthouse.Problem
	// Open makes the driver from a configuration that Validate accepted.
	Open func(Config, Env) (Driver, error)
}

// Forever is the idempotency window of a provider that never forgets a key.
const Forever = time.Duration(1<<63 - 1)

// Env is what a driver gets from the house.
type Env struct {
	Tenant, Channel string
	// Account is the name of the account that the driver is opened for, empty where the channel has but one.
	Account string
	Log     *slog.Logger
	// Output is where a driver that prints, prints. Defaults to standard output.
	Output io.Writer
	// Network decides which addresses may be dialled. The zero value allows public addresses only.
	Network Network
	// Egress bounds what may be called. Defaults to whatever Network allows.
	Egress *Egress
	// KeepAnswers is whether a Result and a Receipt may hold what the provider answered, beside its code, message and id. A
	// Client heeds it. Defaults to false.
	KeepAnswers bool
	// Timeout is the channel's bound on one call.
	Timeout time.Duration
	// Tokens keeps the access tokens of drivers that need one. Defaults to one process's memory.
	Tokens Tokens
	// TokenCalls bounds the calls for tokens that are refused, of all channels of a process. Defaults to a bound of the driver's own.
	TokenCalls *TokenCalls
	// Files has the files that contents name by upload. Defaults to none: each is refused.
	Files Files
	// Codes overrides the class of provider codes, from the channel's settings.
	Codes map[string]posthouse.Class
}
