package content

import (
	"testing"

	"github.com/posthouse/posthouse"
)

// Nothing of a payload leaves but what a template names: its parameters, where it has some, else what title and text name, and what the
// channel's configuration asks for.
func TestOnlyWhatATemplateNamesLeaves(t *testing.T) {
	t.Parallel()
	const payload = `{"name":"Ann","sum":12.50,"order":{"id":7},"id_card":"110101199003070000","mobile":"13800138000"}`
	for name, c := range map[string]struct {
		of      posthouse.Template
		also    []string
		payload string
		want    string
		problem string
	}{
		"what title and text name":     {of: posthouse.Template{Title: "for {name}", Text: "order ${order.id}: ${sum}"}, payload: payload, want: `{"name":"Ann","order":{"id":7},"sum":12.50}`},
		"a text that names nothing":    {of: posthouse.Template{Text: "hello"}, payload: payload, want: `{}`},
		"what the channel asks for":    {of: posthouse.Template{Text: "${name}"}, also: []string{"mobile", "none"}, payload: payload, want: `{"mobile":"13800138000","name":"Ann"}`},
		"parameters":                   {of: posthouse.Template{Text: "${sum}", Parameters: map[string]string{"thing1": "${name}", "amount2": "${sum} 元", "thing3": "coupon"}}, payload: payload, want: `{"amount2":"12.50 元","thing1":"Ann","thing3":"coupon"}`},
		"a parameter that is missing":  {of: posthouse.Template{Text: "x", Parameters: map[string]string{"thing1": "${title}"}}, payload: payload, want: `{}`, problem: "payload.title"},
		"constants of no payload":      {of: posthouse.Template{Text: "x", Parameters: map[string]string{"thing1": "coupon"}}, want: `{"thing1":"coupon"}`},
		"no payload":                   {of: posthouse.Template{Text: "x"}},
		"a template that is not there": {payload: payload, want: `{}`},
		"one that cannot be read":      {of: posthouse.Template{Text: "${", Title: "${name}"}, payload: payload, problem: "template"},
	} {
		got, problems := Prepare(c.of).Leaves([]byte(c.payload), c.also)
		if string(got) != c.want {
			t.Errorf("%s: %s leaves, want %s", name, got, c.want)
		}
		if (len(problems) > 0) != (c.problem != "") || c.problem != "" && problems[0].Path != c.problem {
			t.Errorf("%s: the problems are %v, want one of %q", name, problems, c.problem)
		}
	}
}
