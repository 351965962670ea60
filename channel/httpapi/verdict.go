package httpapi

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// verdict reads an answer that counts for the whole call.
func (p *plan) verdict(r *channel.Reply) channel.Verdict {
	if r.Status == 0 {
		return channel.Verdict{Class: p.statusClass(r)}
	}
	a := newAnswer(r)
	v := channel.Verdict{Class: p.statusClass(r), After: p.after(a)}
	v.Message, _ = p.message.text(a)
	code, found := p.code.text(a)
	if !r.OK() {
		if listed, ok := p.codes[code]; found && ok {
			v.Code, v.Class = code, listed
		}
		return v
	}
	v.Ref, _ = p.id.text(a)
	v.Code = code
	switch p.accepted(a) {
	case yes:
		v.Class = p.classOf(code, posthouse.ClassOK)
	case no:
		v.Class = p.classOf(code, p.otherCodes)
		if v.Message == "" {
			v.Message = "the provider refused it with code " + code
		}
	default:
		v.Class = posthouse.ClassUnknown
		v.Message = "the provider's answer could not be read, so it may have accepted"
	}
	return v
}

// truth is yes, no or not to be known.
type truth int

const (
	unclear truth = iota
	yes
	no
)

// accepted reads from a 2xx whether the provider took it.
func (p *plan) accepted(a answer) truth {
	if p.successText != "" {
		if a.whole && strings.Contains(string(a.body), p.successText) {
			return yes
		}
		_, refused := p.code.text(a)
		return decided(refused)
	}
	value, found := p.success.text(a)
	switch {
	case !p.success.isPath && p.success.pattern == nil:
		return yes
	case found && (len(p.successValues) == 0 || slices.Contains(p.successValues, value)):
		return yes
	case found:
		return no
	}
	_, refused := p.code.text(a)
	return decided(refused)
}

// decided is no for an answer that names an error code, else unclear.
func decided(refused bool) truth {
	if refused {
		return no
	}
	return unclear
}

// statusClass is the class of the status, by the configuration and else by the kit.
func (p *plan) statusClass(r *channel.Reply) posthouse.Class {
	class := r.Class()
	if r.Status/100 == 5 && class == posthouse.ClassUnknown {
		class = p.serverErrors
	}
	if listed, ok := r.ClassIn(p.codes); ok {
		return listed
	}
	return class
}

func (p *plan) classOf(code string, otherwise posthouse.Class) posthouse.Class {
	if class, ok := p.codes[code]; ok && code != "" {
		return class
	}
	return otherwise
}

// after is the wait the body asks for.
func (p *plan) after(a answer) time.Duration {
	seconds, _ := p.retryAfter.text(a)
	return channel.ParseRetryAfter(seconds, time.Now())
}

// each reads a result for each recipient. An answer that lists none counts for all, if it says
// anything but success; a recipient it does not mention may have been served.
func (p *plan) each(r *channel.Reply, outs []channel.Outgoing) []channel.Result {
	whole := p.verdict(r)
	verdicts, listed := p.verdicts(r)
	if !listed {
		if whole.Class == posthouse.ClassOK {
			whole = channel.Verdict{Class: posthouse.ClassUnknown, Message: "the provider's answer lists no results, so it may have accepted"}
		}
		return slices.Repeat([]channel.Result{r.Result(whole)}, len(outs))
	}
	results := make([]channel.Result, len(outs))
	for i := range outs {
		v := find(verdicts, &outs[i])
		if v.Class == posthouse.ClassRate && v.After == 0 {
			v.After = whole.After // a wait is said once for all
		}
		results[i] = r.Result(v)
	}
	return results
}

// verdicts reads the list of results, by what each calls its recipient. It reports whether there is any:
// providers that refuse a whole call answer an empty list, too.
func (p *plan) verdicts(r *channel.Reply) (out map[string]channel.Verdict, listed bool) {
	if !r.OK() {
		return nil, false
	}
	list, _ := p.results.raw(newAnswer(r))
	if len(list) == 0 || list[0] != '[' {
		return nil, false
	}
	out = map[string]channel.Verdict{}
	each(list, func(_, item []byte) {
		listed = true
		a := answer{body: item, whole: true, json: true}
		if recipient, ok := p.resultRecipient.text(a); ok && recipient != "" {
			out[recipient] = p.resultVerdict(a)
		}
	})
	return out, listed
}

func (p *plan) resultVerdict(a answer) channel.Verdict {
	code, found := p.resultCode.text(a)
	if !found {
		return channel.Verdict{Class: posthouse.ClassUnknown, Message: "the provider's answer has no code for this recipient"}
	}
	v := channel.Verdict{Code: code, Class: p.otherCodes}
	if slices.Contains(p.resultSuccess, code) {
		v.Class = posthouse.ClassOK
	}
	v.Class = p.classOf(code, v.Class)
	v.Ref, _ = p.resultID.text(a)
	if v.Message, _ = p.resultMessage.text(a); v.Message == "" {
		v.Message = "the provider refused it with code " + code
	}
	return v
}

func find(verdicts map[string]channel.Verdict, out *channel.Outgoing) channel.Verdict {
	for _, name := range []string{out.Recipient.Address, out.Recipient.User, out.Delivery, out.IdemKey} {
		if v, ok := verdicts[name]; ok && name != "" {
			return v
		}
	}
	return channel.Verdict{Class: posthouse.ClassUnknown, Message: "the provider's answer does not mention this recipient"}
}
