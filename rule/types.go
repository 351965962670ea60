package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// Env is what rules get from the house.
type Env struct {
	// Types are the rules there are. Defaults to Types().
	Types []Type
	// Rosters finds duty rosters. The duty rule needs it.
	Rosters Rosters
	// TimeZone is the IANA zone of rosters that name none. Defaults to
	// DefaultTimeZone.
	TimeZone string
}

// Type describes a rule that a channel can be given.
type Type struct {
	// Name is the rule's name in a channel's settings.
	Name string
	// Title and TitleZH are what a form calls it; Doc and DocZH say in a sentence
	// what it does.
	Title, TitleZH string
	Doc, DocZH     string

	// Open makes the rule of a channel's settings, or says what is wrong with them: problems have paths such as
	// "options.from".
	Open func(settings posthouse.RuleSettings, env Env) (Rule, []posthouse.Problem)
}

// Types lists the rules that ship.
func Types() []Type {
	return []Type{
		{
			Name: "duty", Title: "Duty roster", TitleZH: "值班规则",
			Doc:   "Tells recipients of some types only on the days they are on duty.",
			DocZH: "指定类型的收件人只在值班当天才会收到消息。",
			Open:  openDuty,
		},
	}
}

// Build makes the rules of a channel, in the order of its settings. Problems
// have paths below "rules" and are all reported at once; with any, the rule is nil.
func Build(settings []posthouse.RuleSettings, env Env) (Rule, []posthouse.Problem) {
	var rules []Rule
	var problems []posthouse.Problem
	for i, s := range settings {
		r, found := build(s, env)
		for _, p := range found {
			p.Path = fmt.Sprintf("rules[%d].%s", i, p.Path)
			problems = append(problems, p)
		}
		rules = append(rules, r)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return All(rules...), nil
}

func build(s posthouse.RuleSettings, env Env) (Rule, []posthouse.Problem) {
	types := env.Types
	if types == nil {
		types = Types()
	}
	i := slices.IndexFunc(types, func(t Type) bool { return t.Name == s.Type })
	if i < 0 {
		var names []string
		for _, t := range types {
			names = append(names, t.Name)
		}
		return nil, []posthouse.Problem{{
			Path:    "type",
			Message: fmt.Sprintf("there is no rule %q; the rules are %s", s.Type, strings.Join(names, ", ")),
		}}
	}
	return types[i].Open(s, env)
}
