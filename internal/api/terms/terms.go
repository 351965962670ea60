// Package terms is what people read in the OpenAPI document beyond what Go says of the types of the API: the introduction, what
// fields and parameters mean, and examples. It holds no route: those are package api's.
package terms

import (
	"embed"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// files are the texts.
//
//go:embed intro.md *.yaml
var files embed.FS

// Read reads what the OpenAPI document says of the types of the API beyond what Go says of them.
func Read() (web.Terms, error) {
	t := web.Terms{Words: words(), Kept: kept(), Names: map[reflect.Type]string{ // of two things that go by one name, the wire's keeps it
		reflect.TypeFor[posthouse.Message]():  "StoredMessage",
		reflect.TypeFor[posthouse.Reminder](): "StoredReminder",
		reflect.TypeFor[posthouse.Agent]():    "RegisteredAgent",
		reflect.TypeFor[posthouse.Key]():      "StoredKey",
		reflect.TypeFor[posthouse.Tenant]():   "StoredTenant",
		reflect.TypeFor[posthouse.Campaign](): "StoredCampaign",
	}}
	intro, err := files.ReadFile("intro.md")
	if err != nil {
		return t, err
	}
	t.Intro = string(intro)
	fields, params, tags := map[string]map[string]yaml.Node{}, map[string]yaml.Node{}, []map[string]string{}
	for name, into := range map[string]any{"fields": &fields, "parameters": &params, "operations": &t.Operations, "tags": &tags} {
		if err := readTerms(name, into); err != nil {
			return t, err
		}
	}
	for _, tag := range tags {
		for name, doc := range tag {
			t.Tags = append(t.Tags, web.Tag{Name: name, Doc: doc})
		}
	}
	if t.Params, err = saidOf(params); err != nil {
		return t, err
	}
	t.Fields = map[string]map[string]web.Said{}
	for of, said := range fields {
		if t.Fields[of], err = saidOf(said); err != nil {
			return t, fmt.Errorf("%s: %w", of, err)
		}
	}
	return t, nil
}

func readTerms(name string, into any) error {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the terms of %s: %w", name, err)
	}
	return nil
}

// saidOf reads descriptions: a text, or an object with more.
func saidOf(nodes map[string]yaml.Node) (map[string]web.Said, error) {
	out := map[string]web.Said{}
	for name, node := range nodes {
		said := web.Said{Doc: node.Value}
		if node.Kind != yaml.ScalarNode {
			if err := node.Decode(&said); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		out[name] = said
	}
	return out, nil
}

// words are the values of each type that is a word.
func words() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		reflect.TypeFor[posthouse.State]():             web.Any(posthouse.States()...),
		reflect.TypeFor[posthouse.Policy]():            web.Any(posthouse.Policies()...),
		reflect.TypeFor[posthouse.Priority]():          web.Any(posthouse.Priorities()...),
		reflect.TypeFor[posthouse.BudgetPeriod]():      web.Any(posthouse.PerDay, posthouse.PerMonth),
		reflect.TypeFor[posthouse.WhenSpent]():         web.Any(posthouse.SpentWait, posthouse.SpentHighPriority, posthouse.SpentNextAccount),
		reflect.TypeFor[posthouse.LimitBy]():           web.Any(posthouse.LimitByRecipients, posthouse.LimitByCalls),
		reflect.TypeFor[posthouse.Class]():             web.Any(posthouse.Classes()...),
		reflect.TypeFor[posthouse.ContentType]():       web.Any(posthouse.ContentTypes()...),
		reflect.TypeFor[posthouse.Scope]():             web.Any(posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin, posthouse.ScopeAgent),
		reflect.TypeFor[posthouse.Role]():              web.Any(posthouse.Roles()...),
		reflect.TypeFor[posthouse.AgentState]():        web.Any(posthouse.AgentActive, posthouse.AgentPaused, posthouse.AgentDraining),
		reflect.TypeFor[posthouse.RateReason]():        web.Any(posthouse.RateReasons()...),
		reflect.TypeFor[posthouse.ChannelState]():      web.Any(posthouse.ChannelStates()...),
		reflect.TypeFor[posthouse.BoundOf]():           web.Any(posthouse.BoundOfKey, posthouse.BoundOfTenant),
		reflect.TypeFor[posthouse.BoundWhat]():         web.Any(posthouse.BoundRequests, posthouse.BoundOpen, posthouse.BoundMentionAll),
		reflect.TypeFor[posthouse.QuietDays]():         web.Any(posthouse.QuietWorkdays, posthouse.QuietDaysOff),
		reflect.TypeFor[posthouse.CapThen]():           web.Any(posthouse.CapDefer, posthouse.CapSuppress),
		reflect.TypeFor[posthouse.Grant]():             web.Any(posthouse.Grants()...),
		reflect.TypeFor[posthouse.CampaignState]():     web.Any(posthouse.CampaignStates()...),
		reflect.TypeFor[posthouse.AudienceState]():     web.Any(posthouse.AudienceStates()...),
		reflect.TypeFor[posthouse.SuppressionSource](): web.Any(posthouse.SuppressionSources()...),
		reflect.TypeFor[posthouse.FrontOutcome]():      web.Any(posthouse.FrontOutcomes()...),
		reflect.TypeFor[posthouse.Outcome]():           web.Any(posthouse.Outcomes()...),
		reflect.TypeFor[posthouse.Missed]():            web.Any(posthouse.MissedCollapse, posthouse.MissedExpire),
		reflect.TypeFor[posthouse.ReportResult]():      web.Any(posthouse.ReportDone, posthouse.ReportEvidence, posthouse.ReportStale, posthouse.ReportMissing, posthouse.ReportReused),
		reflect.TypeFor[workflow.EventType]():          web.Any(flow.Events()...),
		reflect.TypeFor[wire.WarningCode]():            web.Any(flow.WarningCodes()...),
		reflect.TypeFor[wire.Log]():                    web.Any(wire.Logs()...),
		reflect.TypeFor[wire.Outcome]():                web.Any(wire.Outcomes()...),
		reflect.TypeFor[wire.FieldKind]():              fieldKinds(),
	}
}

// kept are the fields that the server fills in, of the things that are put as they are read.
func kept() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[posthouse.Channel]():  {"tenant", "name", "version", "paused", "pause_reason", "paused_until", "state", "state_reason", "state_until", "warnings", "created_at", "updated_at"},
		reflect.TypeFor[posthouse.Account]():  {"tenant", "channel", "version", "paused", "pause_reason", "paused_until", "state", "state_reason", "state_until", "created_at", "updated_at"},
		reflect.TypeFor[posthouse.Template](): {"tenant", "name", "version", "variables", "created_at"},
		reflect.TypeFor[posthouse.Roster]():   {"tenant", "name", "updated_at"},
		reflect.TypeFor[posthouse.Agent]():    {"tenant", "state", "reason", "key", "app", "last_seen_at", "created_at", "updated_at"},
		reflect.TypeFor[posthouse.User]():     {"tenant", "updated_at", "warnings"},
		reflect.TypeFor[wire.PutFront]():      {"tenant", "name", "created_at", "updated_at", "last_at"},
	}
}

// fieldKinds are the kinds of a driver's settings.
func fieldKinds() []any {
	var kinds []any
	for _, k := range []channel.Kind{
		channel.KindString, channel.KindText, channel.KindSecret, channel.KindURL, channel.KindInt, channel.KindBool,
		channel.KindDuration, channel.KindChoice, channel.KindMap, channel.KindSecrets, channel.KindList,
	} {
		kinds = append(kinds, wire.FieldKind(k))
	}
	return kinds
}
