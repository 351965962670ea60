package route

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/expression"
)

// Warnings say what of a route would not work now, and may tomorrow: a roster, a role or a template that is not there yet, or a roster
// that has no entry for today. A route with warnings is stored: its parts may come later, and in any order.
func (r *Router) Warnings(ctx context.Context, way *posthouse.Route, now time.Time) (list []posthouse.Problem, err error) {
	add := func(path, format string, args ...any) {
		list = append(list, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if way.Calendar != "" && r.Calendar != nil {
		there, err := r.Calendar(ctx, way.Tenant, way.Calendar)
		if err != nil {
			return nil, err
		}
		if !there {
			add("calendar", "there is no roster %.80q: Monday to Friday are the workdays until there is one", way.Calendar)
		}
	}
	idle, unsaid := 0, 0 // steps that mean nobody, and that have nothing to say
	for i := range way.Steps {
		s, path := &way.Steps[i], fmt.Sprintf("steps[%d].", i)
		meant := len(s.To) == 0
		for j, to := range s.To {
			if to.Roster == "" && to.Role == "" {
				meant = true
				if err := r.unknown(ctx, way.Tenant, to.User, fmt.Sprintf("%sto[%d].user", path, j), add); err != nil {
					return nil, err
				}
				continue
			}
			found, missing, err := r.Intake.People(ctx, way.Tenant, []posthouse.Recipient{to}, now)
			if err != nil {
				return nil, err
			}
			for _, p := range missing {
				list = append(list, posthouse.Problem{Path: fmt.Sprintf("%sto[%d]%s", path, j, strings.TrimPrefix(p.Path, "to[0]")), Message: p.Message})
			}
			meant = meant || len(found) > 0
		}
		if !meant {
			idle++
			add(path+"to", "means nobody now: the step is passed over, as long as that is so")
		}
		for j, name := range s.Channels {
			if r.gone(way.Tenant, name) {
				add(fmt.Sprintf("%schannels[%d]", path, j), "there is no channel %.80q: nothing is sent by it, as long as that is so", name)
			}
		}
		if s.Until == posthouse.ProofDelivered && r.unproven(way.Tenant, s.Channels) {
			add(path+"until", "is delivered, and no channel of the step is ever told that: the next step begins after within for everybody. Want sent, or a channel with receipts")
		}
		if s.When != "" && never(s.When) {
			add(path+"when", `is never true: hour is 0 to 23, weekday 1 to 7 and priority high, normal or low, such as hour >= 22 or hour < 7. The step never begins`)
		}
		nothing, err := r.unsaid(ctx, way.Tenant, s, path, add)
		if err != nil {
			return nil, err
		}
		if nothing {
			unsaid++
		}
	}
	if i := slices.IndexFunc(way.Steps, func(s posthouse.RouteStep) bool { return s.Until == posthouse.ProofAcknowledged }); i >= 0 {
		able, err := r.acknowledgeable(ctx, way)
		if err != nil {
			return nil, err
		}
		if !able {
			add(fmt.Sprintf("steps[%d].until", i), "is acknowledged, and nobody can do that by what the steps send. Want ${ack_url} in a template, ${ack_key} in the button of its card, or a channel that takes answers; else the API, the command and the console alone acknowledge")
		}
	}
	switch {
	case unsaid > 0 && unsaid == len(way.Steps):
		add("steps", "send nothing now: a message that follows the route is refused until one of them has its template")
	case idle > 0 && idle == len(way.Steps):
		add("steps", "mean nobody now: a message that follows the route tells nobody")
	}
	return list, nil
}

// acknowledgeable reports whether something that the steps of a route send may acknowledge: by a link or a button, or by an answer. What is not known,
// such as a message's own text or a template that the provider keeps, may.
func (r *Router) acknowledgeable(ctx context.Context, way *posthouse.Route) (bool, error) {
	if r.Answers == nil || r.Template == nil {
		return true, nil
	}
	for i := range way.Steps {
		for _, channel := range way.Steps[i].Channels {
			name := way.Steps[i].TemplateOn(channel)
			if come, known := r.Answers(way.Tenant, channel); come || !known || name == "" {
				return true, nil
			}
			t, err := r.Template(ctx, way.Tenant, name)
			if posthouse.CodeOf(err) == posthouse.CodeNotFound {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			whole, err := json.Marshal(t)
			if err != nil {
				return false, err
			}
			if t.ExternalID != "" || r.Link != nil && bytes.Contains(whole, []byte("ack_url")) || bytes.Contains(whole, []byte("ack_key")) {
				return true, nil
			}
		}
	}
	return false, nil
}

// unknown warns of a user whom the directory does not know. It has no address of that user then: the channel is asked to reach the id.
func (r *Router) unknown(ctx context.Context, tenant, user, field string, add func(path, format string, args ...any)) error {
	if user == "" {
		return nil
	}
	known, err := r.Directory.Profiles(ctx, tenant, []string{user})
	if _, there := known[user]; !there && err == nil {
		add(field, "the directory does not know the user %.80q: the channel takes the id for the address", user)
	}
	return err
}

// gone reports whether a channel of a route is not there any more, or not open.
func (r *Router) gone(tenant, name string) bool {
	if r.Receipts == nil {
		return false
	}
	_, known := r.Receipts(tenant, name)
	return !known
}

// unproven reports whether none of some channels is told that a message was delivered.
func (r *Router) unproven(tenant string, channels []string) bool {
	return r.Receipts != nil && !slices.ContainsFunc(channels, func(name string) bool {
		come, known := r.Receipts(tenant, name)
		return come || !known
	})
}

// unsaid warns of the templates of a step that are not there, or disabled, and reports whether the step sends nothing since then.
func (r *Router) unsaid(ctx context.Context, tenant string, s *posthouse.RouteStep, path string, add func(path, format string, args ...any)) (nothing bool, err error) {
	gone, err := r.lacking(ctx, tenant, s)
	if err != nil || len(gone) == 0 {
		return false, err
	}
	nothing = len(gone) == len(s.Channels)
	at, first := map[string][]string{}, map[string]lack{}
	for _, l := range gone {
		field := path + "template"
		if s.Templates[l.channel] != "" {
			field = fmt.Sprintf("%stemplates[%.80q]", path, l.channel)
		}
		at[field], first[field] = append(at[field], l.channel), l
	}
	for _, field := range slices.Sorted(maps.Keys(at)) {
		switch l := first[field]; {
		case nothing && l.disabled:
			add(field, "the template %.80q is disabled: the step sends nothing until it is enabled", l.template)
		case nothing:
			add(field, "there is no template %.80q: the step sends nothing until there is one", l.template)
		case l.disabled:
			add(field, "the template %.80q is disabled: the step sends nothing by %s until it is enabled", l.template, strings.Join(at[field], ", "))
		default:
			add(field, "there is no template %.80q: the step sends nothing by %s until there is one", l.template, strings.Join(at[field], ", "))
		}
	}
	return nothing, nil
}

// names are what a condition can ask for.
var names = []string{"kind", "ref", "priority", "source", "payload", "user", "address", "type", "roles", "language", "time_zone", "hour", "weekday", "workday"}

// never reports whether a condition is false at every hour of every day, where it asks for nothing else.
func never(source string) bool {
	for _, name := range expression.Names(source) {
		if !slices.Contains([]string{"hour", "weekday", "workday", "priority"}, name) {
			return false
		}
	}
	program, err := compile(source)
	if err != nil {
		return false
	}
	for at := range 7 * 24 {
		for _, workday := range []bool{true, false} {
			for _, priority := range []posthouse.Priority{posthouse.High, posthouse.Normal, posthouse.Low} {
				out, err := expression.Run(program, map[string]any{"hour": at % 24, "weekday": at/24 + 1, "workday": workday, "priority": string(priority)})
				if yes, _ := out.(bool); yes || err != nil {
					return false
				}
			}
		}
	}
	return true
}
