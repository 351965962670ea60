package httpapi

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// verdict reads an answer that counts for the whole call.
func (p *plan) verdict(r *channel.Reply) channel.Verdict {
	if r.Status == 0 {
		return p.ended(r, answer{}, channel.Verdict{})
	}
	a := newAnswer(r)
	v := channel.Verdict{After: p.after(a)}
	v.Message, _ = p.message.text(a)
	code, _ := p.code.text(a)
	if !r.OK() {
		if m, ok := p.table.of(a, code, v.Message); ok {
			v.Code = code
			return classed(v, m)
		}
		return p.ended(r, a, v)
	}
	v.Ref, _ = p.id.text(a)
	v.Code = code
	switch p.accepted(a) {
	case yes:
		v = classed(v, p.meaning(a, code, v.Message, posthouse.ClassOK))
	case no:
		v = classed(v, p.meaning(a, code, v.Message, p.otherCodes))
		if v.Message == "" {
			v.Message = "the provider refused it with code " + code
		}
	default:
		v.Class = posthouse.ClassUnknown
		v.Message = "the provider's answer could not be read, so it may have accepted"
	}
	return v
}

// classed is a verdict with a meaning. A wait that the answer names itself counts before the table's.
func classed(v channel.Verdict, m meaning) channel.Verdict {
	v.Class, v.After = m.class, cmp.Or(v.After, m.after)
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

// ended is the verdict on a call by its status, or by its end without an answer: by the configuration, and else by the kit.
func (p *plan) ended(r *channel.Reply, a answer, v channel.Verdict) channel.Verdict {
	if m, ok := p.table.ofStatus(r, a, v.Message); ok {
		return classed(v, m)
	}
	v.Class = r.Class()
	if r.Status/100 == 5 && v.Class == posthouse.ClassUnknown {
		v.Class = p.serverErrors
	}
	return v
}

// meaning is what the table says of an answer, or else a class.
func (p *plan) meaning(a answer, code, message string, otherwise posthouse.Class) meaning {
	if m, ok := p.table.of(a, code, message); ok {
		return m
	}
	return meaning{class: otherwise}
}

// after is the wait the body asks for.
func (p *plan) after(a answer) time.Duration {
	seconds, _ := p.retryAfter.text(a)
	return channel.ParseRetryAfter(seconds, time.Now())
}

// read finds the results of a call in its answer.
func (p *plan) read(r *channel.Reply, outs []channel.Outgoing) []channel.Result {
	whole := p.verdict(r)
	switch {
	case p.results.isPath:
		return p.each(r, outs, whole)
	case len(p.failed) > 0 && whole.Class == posthouse.ClassOK:
		return p.spread(r, outs, whole)
	}
	return slices.Repeat([]channel.Result{r.Result(whole)}, len(outs))
}

// each reads a result for each recipient. An answer that lists none counts for all, if it says
// anything but success; a recipient it does not mention may have been served.
func (p *plan) each(r *channel.Reply, outs []channel.Outgoing, whole channel.Verdict) []channel.Result {
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
		if v.Class == posthouse.ClassOK && v.Ref == "" {
			v.Ref = whole.Ref
		}
		results[i] = r.Result(v)
	}
	return results
}

// verdicts reads the results, by what each calls its recipient: the members of an object by their names, those of a list by what stands
// in them. It reports whether there is any: providers that refuse a whole call answer an empty list, too.
func (p *plan) verdicts(r *channel.Reply) (out map[string]channel.Verdict, listed bool) {
	if !r.OK() {
		return nil, false
	}
	list, _ := p.results.raw(newAnswer(r))
	if opening := map[bool]byte{false: '[', true: '{'}[p.resultsByName]; len(list) == 0 || list[0] != opening {
		return nil, false
	}
	out = map[string]channel.Verdict{}
	each(list, func(key, item []byte) {
		listed = true
		a := answer{body: item, whole: true, json: true}
		recipient, ok := text(key), key != nil
		if !ok {
			recipient, ok = p.resultRecipient.text(a)
		}
		if ok && recipient != "" {
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
	v.Message, _ = p.resultMessage.text(a)
	v = classed(v, p.meaning(a, code, v.Message, v.Class))
	v.Ref, _ = p.resultID.text(a)
	if v.Message == "" {
		v.Message = "the provider refused it with code " + code
	}
	return v
}

// failure is a list in an answer of those whom the provider did not serve.
type failure struct {
	path path
	name string // of the list, which is their code
	meaning
}

// spread gives those whom a list of the failed names its meaning, and everybody else the verdict on the whole call.
func (p *plan) spread(r *channel.Reply, outs []channel.Outgoing, whole channel.Verdict) []channel.Result {
	a := newAnswer(r)
	results := slices.Repeat([]channel.Result{r.Result(whole)}, len(outs))
	for _, f := range p.failed {
		raw, _ := picker{path: f.path, isPath: true}.raw(a)
		names := strings.Split(text(raw), p.separator)
		if len(raw) > 0 && raw[0] == '[' {
			names = nil
			each(raw, func(_, item []byte) { names = append(names, text(item)) })
		}
		for i := range outs {
			if slices.ContainsFunc(names, func(name string) bool { return called(&outs[i], name) }) && results[i].Class == posthouse.ClassOK {
				results[i] = r.Result(classed(channel.Verdict{Code: f.name, Message: "the provider names this recipient in " + f.name}, f.meaning))
			}
		}
	}
	return results
}

// called reports whether a provider may mean a recipient by a name. Some answer in small letters.
func called(out *channel.Outgoing, name string) bool {
	return name != "" && (strings.EqualFold(name, out.Recipient.Address) || strings.EqualFold(name, out.Recipient.User))
}

func find(verdicts map[string]channel.Verdict, out *channel.Outgoing) channel.Verdict {
	for _, name := range []string{out.Recipient.Address, out.Recipient.User, out.Delivery, out.IdemKey} {
		if v, ok := verdicts[name]; ok && name != "" {
			return v
		}
	}
	return channel.Verdict{Class: posthouse.ClassUnknown, Message: "the provider's answer does not mention this recipient"}
}
