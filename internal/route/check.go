package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/expression"
)

// Bounds of a route.
const (
	mostSteps    = 20
	mostChannels = 10
	mostTo       = 100
	mostRepeat   = 9
	mostManager  = 5
	leastWithin  = time.Second
	mostWithin   = 30 * 24 * time.Hour
	maxNote      = 1000
)

// WithDefaults fills in what a route leaves out.
func WithDefaults(r posthouse.Route) posthouse.Route {
	orDefault(&r.Kind, posthouse.RouteFirst)
	orDefault(&r.For, posthouse.RouteEach)
	orDefault(&r.OnUnknown, posthouse.UnknownWait)
	r.Steps = slices.Clone(r.Steps)
	for i := range r.Steps {
		orDefault(&r.Steps[i].Until, posthouse.ProofSent)
	}
	return r
}

func orDefault[T ~string](v *T, def T) {
	if *v == "" {
		*v = def
	}
}

// Check says what is wrong with a route whose defaults are filled in, as far as it alone can tell. channel reports whether there is a
// channel of a name.
func Check(r *posthouse.Route, channel func(name string) bool, p *draft.Problems) {
	one(p, "kind", r.Kind, posthouse.RouteFirst, posthouse.RouteAll)
	one(p, "for", r.For, posthouse.RouteEach, posthouse.RouteAny)
	one(p, "on_unknown", r.OnUnknown, posthouse.UnknownWait, posthouse.UnknownFallBack)
	if r.Calendar != "" {
		p.Word("calendar", r.Calendar, draft.MaxWord)
	}
	if len(r.Note) > maxNote {
		p.Add("note", "has %d bytes: at most %d are allowed", len(r.Note), maxNote)
	}
	if len(r.Steps) == 0 {
		p.Add("steps", `is required: the steps in their order, such as [{"channels": ["sms"], "within": "2m"}, {"channels": ["voice"]}]`)
	} else if len(r.Steps) > mostSteps {
		p.Add("steps", "has %d steps: at most %d are allowed", len(r.Steps), mostSteps)
	}
	for i := range r.Steps {
		checkStep(r, i, channel, p)
	}
	switch {
	case r.Repeat < 0 || r.Repeat > mostRepeat:
		p.Add("repeat", "is %d: want 0 to %d", r.Repeat, mostRepeat)
	case r.Repeat > 0 && r.Kind == posthouse.RouteAll:
		p.Add("repeat", "is for routes of kind first: all steps begin at once here")
	case r.Repeat > 0 && len(r.Steps) > 0 && r.Steps[len(r.Steps)-1].Until != posthouse.ProofAcknowledged:
		p.Add("repeat", "needs a last step with until: acknowledged, which is what a repetition waits for")
	}
}

func checkStep(r *posthouse.Route, i int, channel func(string) bool, p *draft.Problems) {
	s, path := &r.Steps[i], fmt.Sprintf("steps[%d].", i)
	if len(s.Channels) == 0 {
		p.Add(path+"channels", "is required: names of channels")
	} else if len(s.Channels) > mostChannels {
		p.Add(path+"channels", "has %d names: at most %d are allowed", len(s.Channels), mostChannels)
	}
	for j, name := range s.Channels {
		switch at := fmt.Sprintf("%schannels[%d]", path, j); {
		case slices.Index(s.Channels, name) < j:
			p.Add(at, "%.80q stands there twice", name)
		case !channel(name):
			p.Add(at, "there is no channel %.80q: posthouse channel list names those there are", name)
		}
	}
	checkTo(s.To, path, p)
	p.Word(path+"template", s.Template, draft.MaxWord)
	for _, name := range slices.Sorted(maps.Keys(s.Templates)) {
		if at := fmt.Sprintf("%stemplates[%.80q]", path, name); !slices.Contains(s.Channels, name) {
			p.Add(at, "names a channel that is none of the step's: want one of its channels")
		} else {
			p.Word(at, s.Templates[name], draft.MaxWord)
		}
	}
	one(p, path+"until", s.Until, posthouse.ProofSent, posthouse.ProofDelivered, posthouse.ProofAcknowledged)
	switch within := s.Within.Std(); {
	case within != 0 && (within < leastWithin || within > mostWithin):
		p.Add(path+"within", "is %s: want %s to %s", s.Within, posthouse.Duration(leastWithin), posthouse.Duration(mostWithin))
	case within == 0 && s.Until != posthouse.ProofSent:
		p.Add(path+"within", `is required where until is %s: how long that is waited for, such as "10m"`, s.Until)
	}
	if s.When != "" {
		if i := slices.IndexFunc(expression.Names(s.When), func(name string) bool { return !slices.Contains(names, name) }); i >= 0 {
			p.Add(path+"when", `asks for %.60q, which no message has: want %s, such as priority == "high"`, expression.Names(s.When)[i], strings.Join(names, ", "))
		} else if _, err := compile(s.When); err != nil {
			p.Add(path+"when", "%v: want a condition such as %s", err, exampleOf(s.When))
		} else {
			checkComparisons(s.When, path+"when", p)
		}
	}
}

// EmptyTo is what is wrong with a list of a step's recipients that is written and empty. Programs leave such a list out before they send it.
const EmptyTo = `is an empty list, which names nobody: leave it out for the message's recipients, or say whom, such as [{"roster": "night"}]`

func checkTo(to []posthouse.Recipient, path string, p *draft.Problems) {
	if to != nil && len(to) == 0 {
		p.Add(path+"to", "%s", EmptyTo)
	}
	if len(to) > mostTo {
		p.Add(path+"to", "has %d recipients: at most %d are allowed", len(to), mostTo)
	}
	for j := range to {
		at := fmt.Sprintf("%sto[%d]", path, j)
		switch m := to[j]; {
		case m.Manager == 0 && m.User+m.Address+m.Roster+m.Role == "":
			p.Add(at, `names nobody: want a user, an address, a roster, a role or a manager, such as {"roster": "duty"}`)
		case m.Manager == 0:
			p.Recipient(at, &to[j])
		case m.Manager < 1 || m.Manager > mostManager:
			p.Add(at+".manager", "is %d: want 1 to %d", m.Manager, mostManager)
		case m.User+m.Address+m.Roster+m.Role != "":
			p.Add(at, "names several things: want a user or an address, or a roster, or a role, or a manager")
		default:
			p.Word(at+".type", m.Type, draft.MaxWord)
		}
	}
}

// one adds a problem where a value is none of those allowed.
func one[T ~string](p *draft.Problems, path string, v T, allowed ...T) {
	if !slices.Contains(allowed, v) {
		p.Add(path, "%s", channel.Want(v, allowed))
	}
}

// conditions are what the When of a step is made of.
var conditions = expression.Rules{
	Noun: "condition", Want: "kind, ref, priority, source, payload, user, address, type, roles, language, time_zone, hour, weekday, workday, and, or, not, in and comparisons",
	Bytes: 1000, Nodes: 200, Calls: []string{"len", "lower", "upper", "trim"},
	Refuse: func(n ast.Node) (string, bool) {
		switch n := n.(type) {
		case *ast.UnaryNode:
			return refused(n.Operator, "not", "!", "-")
		case *ast.BinaryNode:
			return refused(n.Operator, "==", "!=", "<", "<=", ">", ">=", "and", "&&", "or", "||", "in", "contains", "startsWith", "endsWith", "%")
		case *ast.ArrayNode:
			return "", true
		}
		return "", false
	},
	Options: []expr.Option{expr.AsBool(), expr.Env(asked(&posthouse.Draft{}, posthouse.Recipient{}, &posthouse.User{}, map[string]any{}, time.Time{}, false))},
}

// refused says that an operator is none of those allowed.
func refused(operator string, allowed ...string) (string, bool) {
	if slices.Contains(allowed, operator) {
		return "", true
	}
	return "the operator " + operator, true
}

func compile(source string) (*vm.Program, error) { return conditions.Compile(source) }

// holds reports whether a step's condition holds for somebody, of whom the directory may know more, at a time in that person's zone, on a workday or not. Of one
// that fails there is an error.
func holds(source string, d *posthouse.Draft, to posthouse.Recipient, person *posthouse.User, payload map[string]any, at time.Time, workday bool) (bool, error) {
	program, err := compile(source)
	if err != nil {
		return false, err
	}
	out, err := expression.Run(program, asked(d, to, person, payload, at, workday))
	if err != nil {
		return false, fmt.Errorf("the condition %q fails: %w", source, err)
	}
	yes, _ := out.(bool)
	return yes, nil
}

// asked are the names that a condition knows, and what they are.
func asked(d *posthouse.Draft, to posthouse.Recipient, person *posthouse.User, payload map[string]any, at time.Time, workday bool) map[string]any {
	return map[string]any{
		"kind": d.Kind, "ref": d.Ref, "priority": string(d.Priority), "source": d.Source, "payload": payload,
		"user": to.User, "address": to.Address, "type": cmp.Or(to.Type, person.Type), "roles": person.Roles,
		"language": person.Language, "time_zone": person.TimeZone,
		"hour": at.Hour(), "weekday": (int(at.Weekday())+6)%7 + 1, "workday": workday,
	}
}
