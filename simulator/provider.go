package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// message is what a provider reads from a request for one recipient.
type message struct {
	user, title, text string
	key               string // the sender's own id of the delivery, empty without one
	acts              string // the magic recipient it acts as, where the user's own name is not one
}

// order is a request as a provider reads it.
type order struct {
	messages []message
	// idempotent says that the provider remembers the messages' keys: a second
	// order with the same key gets the first one's id and is not taken again.
	idempotent bool
	// refusals are what the provider's own rules say, one for each message; nil for none.
	refusals []*refusal
	// violated says that the provider's own limit was.
	violated bool
	// account is whose calls the provider counts, by the word it knows it by; empty where it knows none.
	account string
	// together says that the provider answers one id for all messages of the order.
	together bool
}

// result is what a provider answers for one recipient: an id or a refusal.
type result struct {
	user    string
	id      string
	refusal *refusal
}

// refusal is a business error. Each provider has its own number or word for its code.
type refusal struct {
	code Code
	text string
	wait int    // seconds until another try makes sense, 0 if the provider names none
	own  string // the provider's own code, where it has several for one of ours
	// later is set where the provider accepts the message all the same and tells when it is asked.
	later bool
}

// Error says what is refused and why, so that a reader of requests can return it.
func (r *refusal) Error() string { return string(r.code) + ": " + r.text }

// Code is what a provider refuses a message for, in the simulator's own words.
type Code string

// The codes of a refusal.
const (
	UnknownUser    Code = "unknown_user"    // the provider does not know the recipient
	RefusedContent Code = "refused_content" // the provider will not carry this text
	TooFast        Code = "too_fast"        // over the provider's limit; the answer names a wait
	Busy           Code = "busy"            // the provider is overloaded; try again
	Malformed      Code = "malformed"       // the request cannot be read; never set by a fault
	Unauthorized   Code = "unauthorized"    // the signature is missing or wrong; never set by a fault
)

// refuse makes the refusal of a code with the words every provider uses for it.
func refuse(code Code, wait int) *refusal {
	texts := map[Code]string{
		UnknownUser:    "no such user",
		RefusedContent: "the content is not allowed",
		TooFast:        "too many requests",
		Busy:           "the system is busy, try again later",
	}
	return &refusal{code: code, text: texts[code], wait: wait}
}

func malformed(format string, args ...any) *refusal {
	return &refusal{code: Malformed, text: fmt.Sprintf(format, args...)}
}

// provider is one fake platform: where it listens, how it reads and how it answers.
type provider struct {
	name           string // in paths and answers
	title, titleZH string
	path           string // a ServeMux pattern without its method
	prefix         string // of the ids it gives
	read           func(r *http.Request, body []byte) (order, *refusal)
	// status is the HTTP status for a refusal's code, or for success where it is empty.
	status func(Code) int
	answer func(results []result) reply
	more   *more // nil for a provider that remembers nothing
}

// more is what a provider with rules of its own does besides.
type more struct {
	// settle makes what single messages of an order are refused for into what the order's
	// sender is told.
	settle func([]*refusal)
	// taken is told what arrived and how it was answered; nil for nothing to be told.
	taken func([]Arrival)
	// forget begins anew, with the ledger.
	forget func()
	// token answers a request for an access token, and reports whether it was one; nil for a provider whose tokens have paths of their own.
	token func(w http.ResponseWriter, r *http.Request, body []byte) bool
	// back calls its customer; nil for a provider that calls nobody.
	back *caller
	// hosts are the provider's own names: what is called by one of them arrives here, below any path.
	hosts []string
	// paths are its other paths, where nothing arrives, by their pattern.
	paths map[string]http.HandlerFunc
}

// reply is an answer without its status.
type reply struct {
	kind string // media type
	body string
	wait int // seconds for Retry-After, 0 for none
	// header are further headers.
	header map[string]string
}

// table lists the providers, in the order pages show them.
func table(gone context.Context, o Options, phones *phones) []provider {
	notices := newNotices()
	return []provider{
		{"tianyuan", "Tianyuan", "天元", "/tianyuan/api/message/send", "ty", readTianyuan, always200, answerTianyuan, nil},
		{"zhaohu", "Zhaohu", "招呼", "/zhaohu/im/v1/notify", "zh", readZhaohu, always200, answerZhaohu, nil},
		{"oa", "OA", "OA", "/oa/messages", "oa", readOA, always200, answerOA, nil},
		{"generic", "Generic HTTP", "通用 HTTP", "/generic/", "ge", readGeneric, statusOr(202), answerPlainly, nil},
		{"webhook", "Webhook", "Webhook", "/webhook/", "wh", webhookReader(o.WebhookSecrets), statusOr(200), answerPlainly, nil},
		dingtalkGateway(),
		dingtalkRobot(o),
		dingtalkWork(notices),
		dingtalkCard(notices, newCaller(gone, inDingTalk)),
		wecomApp(newCaller(gone, inSignedXML)),
		wecomRobot(),
		wechatTemplate(newCaller(gone, inSignedXML)),
		wechatSubscribe(),
		mailProvider(newCaller(gone, asMail)),
		smsAliyun(o, newCaller(gone, inPlainJSON)),
		smsTencent(o, newCaller(gone, inPlainJSON)),
		feishu(newCaller(gone, inFeishu)),
		fcm(),
		apns(),
		huaweiPush(),
		phones.provider(),
	}
}

// always200 is the status of providers that say everything in the body.
func always200(Code) int { return http.StatusOK }

// statusOr is the status of providers that refuse through the HTTP status.
func statusOr(success int) func(Code) int {
	return func(code Code) int {
		switch code {
		case "":
			return success
		case UnknownUser:
			return http.StatusNotFound
		case RefusedContent:
			return http.StatusUnprocessableEntity
		case TooFast:
			return http.StatusTooManyRequests
		case Busy:
			return http.StatusServiceUnavailable
		case Unauthorized:
			return http.StatusUnauthorized
		default:
			return http.StatusBadRequest
		}
	}
}

// answerPlainly is the answer of providers that refuse through the HTTP status.
func answerPlainly(results []result) reply {
	ref := results[0].refusal
	if ref == nil {
		return inJSON(`{"id":"` + results[0].id + `"}`)
	}
	out := inJSON(fmt.Sprintf(`{"error":{"code":%s,"message":%s}}`, quote(string(ref.code)), quote(ref.text)))
	out.wait = ref.wait
	return out
}

func inJSON(body string) reply { return reply{kind: "application/json", body: body} }

// send writes the reply; a client that left is no concern of a provider.
func (a reply) send(w http.ResponseWriter, status int) {
	h := w.Header()
	h["Content-Type"] = []string{a.kind}
	for name, value := range a.header {
		h.Set(name, value)
	}
	if a.wait > 0 {
		h.Set("Retry-After", strconv.Itoa(a.wait))
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, a.body)
}

// quote writes a string as JSON does.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string always has a JSON form
	return string(b)
}

// mediaType is the request's content type without parameters, in lower case.
func mediaType(r *http.Request) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
