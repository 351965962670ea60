package rule_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

type fixed struct {
	verdict rule.Verdict
	err     error
}

func (f fixed) Judge(context.Context, rule.Subject) (rule.Verdict, error) { return f.verdict, f.err }

func TestAllAnswersWithTheFirstThatDoesNotAllow(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	allow := fixed{}
	skip := fixed{verdict: rule.Verdict{Decision: rule.Skip, Reason: "first"}}
	deferred := fixed{verdict: rule.Verdict{Decision: rule.Defer, Reason: "second"}}
	for name, c := range map[string]struct {
		rules []rule.Rule
		want  rule.Verdict
		err   error
	}{
		"no rule":           {nil, rule.Verdict{}, nil},
		"all allow":         {[]rule.Rule{allow, allow}, rule.Verdict{}, nil},
		"first one wins":    {[]rule.Rule{allow, skip, deferred}, skip.verdict, nil},
		"in order":          {[]rule.Rule{deferred, skip}, deferred.verdict, nil},
		"error":             {[]rule.Rule{allow, fixed{err: broken}, skip}, rule.Verdict{}, broken},
		"error not reached": {[]rule.Rule{skip, fixed{err: broken}}, skip.verdict, nil},
		"nested":            {[]rule.Rule{rule.All(allow), rule.All(allow, skip)}, skip.verdict, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rule.All(c.rules...).Judge(t.Context(), rule.Subject{})
			if !errors.Is(err, c.err) {
				t.Errorf("got error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecisionsHaveNames(t *testing.T) {
	t.Parallel()
	for d, want := range map[rule.Decision]string{rule.Allow: "allow", rule.Skip: "skip", rule.Defer: "defer", 9: "unknown"} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBuildNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, got := rule.Build([]posthouse.RuleSettings{
		{Type: "duty"}, {Type: "quiet"}, {Type: "duty", Recipients: []string{"head_office", ""}, Options: map[string]string{"from": "22:00"}},
	}, rule.Env{})
	want := []posthouse.Problem{
		{Path: "rules[1].type", Message: `there is no rule "quiet"; the rules are duty`},
		{Path: "rules[2].options.from", Message: "the duty rule has no options: its settings are roster and recipients"},
		{Path: "rules[2].recipients[1]", Message: "an empty recipient type; name one such as head_office"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTypesAreCompleteAndBuild(t *testing.T) {
	t.Parallel()
	for _, ty := range rule.Types() {
		if ty.Name == "" || ty.Title == "" || ty.TitleZH == "" || ty.Doc == "" || ty.DocZH == "" {
			t.Errorf("%q lacks a text: %+v", ty.Name, ty)
		}
		if r, problems := rule.Build([]posthouse.RuleSettings{{Type: ty.Name}}, rule.Env{}); r == nil || len(problems) > 0 {
			t.Errorf("%q with no settings: %v", ty.Name, problems)
		}
	}
}
