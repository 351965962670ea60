package inbound

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// dedupWindow is how long the same is taken once, where a front does not say it: as long as two senders of a pair may be apart.
const dedupWindow = 5 * time.Minute

// MaxMessages bounds the messages of one call.
const MaxMessages = 200

// hand hands messages in. A message whose template fails goes out with the front's own text, and the call says so: no alert is lost to
// a name that it does not have.
func (d *Desk) hand(form *Form, in *Request, messages []Message) Result {
	if n := len(messages); n > MaxMessages {
		in.Note(fmt.Sprintf("%d messages at once: the first %d are taken", n, MaxMessages))
		messages = messages[:MaxMessages]
	}
	messages, over, err := d.resolve(form, in, messages)
	if err != nil {
		return Result{Status: Unavailable, Reason: reasonOf(err)}
	}
	again, err := d.nothingNew(form, in, messages)
	if err != nil {
		return Result{Status: Unavailable, Reason: reasonOf(err)}
	}
	out := Result{}
	if rest := without(messages, again); len(rest) > 0 {
		if out = d.handOn(form, in, rest); out.Status != Accepted {
			return out
		}
	}
	out.Accepted = inPlace(len(messages), again, out.Accepted)
	out.ended = over
	return out
}

// handOn hands in messages that are told as the front has it.
func (d *Desk) handOn(form *Form, in *Request, messages []Message) Result {
	drafts := make([]posthouse.Draft, 0, len(messages))
	var files []posthouse.Draft
	for i := range messages {
		beside, err := d.attach(form, in, &messages[i])
		if err != nil {
			return Result{Status: Unavailable, Reason: reasonOf(err)}
		}
		if m := &messages[i]; m.Alone && len(beside) > 0 && m.Tail == "" {
			drafts, files = append(drafts, beside[0]), append(files, beside[1:]...)
			continue
		}
		drafts = append(drafts, d.draftOf(form, in, &messages[i], in.Front.Template))
		files = append(files, beside...)
	}
	drafts = append(drafts, files...)
	answer, err := d.accept(in, messages, drafts)
	if in.Front.Template != "" && posthouse.CodeOf(err) == posthouse.CodeInvalid && err != nil {
		for i, why := range failures(err) {
			if i < len(messages) {
				in.Note(fmt.Sprintf("message %d is told without the template %s: %s", i+1, in.Front.Template, why))
				drafts[i] = d.draftOf(form, in, &messages[i], "")
			}
		}
		answer, err = d.accept(in, messages, drafts)
	}
	switch why := sendersOwn(form, in, err); {
	case err == nil:
		return Result{Accepted: answer.Accepted, again: answer.Replayed}
	case posthouse.CodeOf(err) == posthouse.CodeKeyReused:
		return Result{Status: Conflict, Reason: "message with the same ID already exists, and says something else"}
	case why != "":
		return Result{Status: Refused, Reason: why}
	}
	return Result{Status: Unavailable, Reason: reasonOf(err)}
}

// accept hands drafts in, all or none.
func (d *Desk) accept(in *Request, messages []Message, drafts []posthouse.Draft) (intake.Answer, error) {
	req := intake.Request{
		Tenant: in.Front.Tenant, Caller: work.Caller{Sight: work.SeeAll()}, Drafts: drafts, BestEffort: true,
		Path: func(i int) string { return fmt.Sprintf("messages[%d].", i) },
	}
	for i := range messages {
		if t := messages[i].Things; t != nil && i < len(drafts) && drafts[i].Route != "" && drafts[i].DedupKey != "" {
			if req.Things == nil {
				req.Things = map[string]work.Things{}
			}
			req.Things[drafts[i].DedupKey] = *t
		}
	}
	if len(messages) == 1 && messages[0].ID != "" {
		m := &messages[0]
		said, _ := json.Marshal([]any{m.Title, m.Text, m.To}) // texts: cannot fail
		req.Endpoint, req.Key, req.Hash = "fronts", sum([]byte(in.Front.Name+"\x00"+m.ID)), sum(said)
	}
	return d.o.Intake.Accept(in.Context(), req)
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// sendersOwn is what is wrong with what the sender alone decides: to come again with it would help nobody. It is empty where something else
// is wrong.
func sendersOwn(form *Form, in *Request, err error) string {
	if posthouse.CodeOf(err) != posthouse.CodeInvalid {
		return ""
	}
	for _, p := range web.ProblemsOf(err) {
		_, field, _ := strings.Cut(p.Path, "].")
		if named := strings.HasPrefix(field, "to") && form.Names && len(in.Front.To) == 0; named || field == "not_before" || field == "deadline" {
			return Cut(field+" "+p.Message, 500)
		}
	}
	return ""
}

// failures are the messages of a request in which something is wrong, and what.
func failures(err error) map[int]string {
	out := map[int]string{}
	for _, p := range web.ProblemsOf(err) {
		rest, _ := strings.CutPrefix(p.Path, "messages[")
		number, field, _ := strings.Cut(rest, "].")
		if i, err := strconv.Atoi(number); err == nil {
			out[i] = cmp.Or(out[i], field+" "+p.Message)
		}
	}
	return out
}

// reasonOf is why drafts were not accepted: what is meant for callers, and nothing of what is inside.
func reasonOf(err error) string {
	switch code := posthouse.CodeOf(err); code {
	case posthouse.CodeInternal, posthouse.CodeOutcomeUnknown:
		return "it could not be committed now"
	default:
		return "it could not be committed: " + Cut(err.Error(), 500)
	}
}

// draftOf is a message for the channel or the route and the recipients that the front has for it.
func (d *Desk) draftOf(form *Form, in *Request, m *Message, template string) posthouse.Draft {
	out := blank(form, in, m)
	if template != "" || out.Route != "" { // its steps may have templates
		out.Payload = payloadOf(m)
	}
	if out.Template = template; template == "" {
		out.Content = d.contentOf(in, m, d.targetOf(in, &out))
	}
	return out
}

// blank is a message without what it says.
func blank(form *Form, in *Request, m *Message) posthouse.Draft {
	f := &in.Front
	out := posthouse.Draft{
		Channel: f.Channel, Route: f.Route, To: f.To, Kind: kindOf(f), Ref: Cut(Clean(m.Ref), maxRef), Source: sourceOf(f),
		Priority: priorityOf(form, f, m), NotBefore: m.NotBefore, Deadline: m.Deadline,
	}
	if form.Names && len(f.To) == 0 {
		out.To = m.To
	}
	if row := matching(f.Match, m.Labels); row != nil {
		if row.Channel != "" || row.Route != "" {
			out.Channel, out.Route = row.Channel, row.Route
		}
		if len(row.To) > 0 {
			out.To = row.To
		}
	}
	if out.Route == "" && out.NotBefore.IsZero() { // a digest cannot keep them
		out.Digest = f.Digest
	}
	if m.Key != "" {
		out.DedupKey, out.DedupWindow = "front:"+sum([]byte(f.Name+"\x00"+place(&out)+"\x00"+m.Key)), cmp.Or(f.DedupWindow, posthouse.Duration(form.Window), posthouse.Duration(dedupWindow))
	}
	return out
}

// maxRef bounds what a message is about, in bytes.
const maxRef = 255

// kindOf is the kind of the messages of a front, and sourceOf where they come from.
func kindOf(f *posthouse.Front) string   { return cmp.Or(f.MessageKind, f.Kind) }
func sourceOf(f *posthouse.Front) string { return Cut("front "+f.Name, 128) }

// maxTitle bounds a title in bytes, and maxText a text, where its channel takes that much.
const (
	maxTitle = 250
	maxText  = 4000
)

// payloadOf is what a template is filled with: the sender's fields, with the front's own text as title and text.
func payloadOf(m *Message) json.RawMessage {
	title, severity := Cut(OneLine(m.Title), maxTitle), Cut(Clean(m.Severity), maxTitle)
	all := map[string]any{"title": title, "text": Clean(m.Text) + m.Tail, "severity": severity}
	for name, v := range m.Payload {
		all[name] = v
	}
	out, err := json.Marshal(cleaned(all))
	if err != nil || len(out) > draft.MaxPayload {
		out, _ = json.Marshal(map[string]any{"title": title, "text": Cut(Clean(m.Text), maxText-len(m.Tail)) + m.Tail, "severity": severity}) // texts: cannot fail
	}
	return out
}

// cleaned is a value without what no database keeps.
func cleaned(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case map[string]string:
		out := make(map[string]any, len(v))
		for name, text := range v {
			out[Clean(name)] = Clean(text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			out[Clean(name)] = cleaned(one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cleaned(v[i])
		}
		return out
	}
	return v
}

// matching is the first line that fits, nil for none.
func matching(lines []posthouse.FrontMatch, labels map[string]string) *posthouse.FrontMatch {
	at := slices.IndexFunc(lines, func(l posthouse.FrontMatch) bool {
		for name, want := range l.If {
			if labels[name] != want {
				return false
			}
		}
		return true
	})
	if at < 0 {
		return nil
	}
	return &lines[at]
}

func priorityOf(form *Form, f *posthouse.Front, m *Message) posthouse.Priority {
	if m.Priority != "" {
		return m.Priority
	}
	return PriorityOf(form.Priorities, f, m.Severity)
}

// PriorityOf is the priority of the sender's word for how bad something is, normal where nobody knows the word.
func PriorityOf(usual map[string]posthouse.Priority, f *posthouse.Front, severity string) posthouse.Priority {
	word := strings.ToLower(strings.TrimSpace(severity))
	return cmp.Or(f.Priorities[severity], f.Priorities[word], usual[word], posthouse.Normal)
}
