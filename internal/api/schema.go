package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// choices are the values of each type that is a word, for the description of the API: the
// vocabulary knows nothing of huma.
func choices() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		reflect.TypeFor[posthouse.State]():         anyOf(posthouse.States()),
		reflect.TypeFor[posthouse.Policy]():        anyOf(posthouse.Policies()),
		reflect.TypeFor[posthouse.Priority]():      anyOf(posthouse.Priorities()),
		reflect.TypeFor[posthouse.Class]():         anyOf(posthouse.Classes()),
		reflect.TypeFor[posthouse.Scope]():         {posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin, posthouse.ScopeAgent},
		reflect.TypeFor[posthouse.AgentState]():    {posthouse.AgentActive, posthouse.AgentPaused, posthouse.AgentDraining},
		reflect.TypeFor[posthouse.Outcome]():       anyOf(posthouse.Outcomes()),
		reflect.TypeFor[posthouse.ReportResult]():  {posthouse.ReportDone, posthouse.ReportEvidence, posthouse.ReportStale, posthouse.ReportMissing, posthouse.ReportReused},
		reflect.TypeFor[work.Log]():                {work.ReceiveLog, work.SendLog, work.ReportLog},
		reflect.TypeFor[engine.Resolution]():       anyOf(resolutions),
		reflect.TypeFor[posthouse.TaskEventType](): anyOf(workflow.Events()),
		reflect.TypeFor[workflow.WarningCode]():    anyOf(workflow.WarningCodes()),
		reflect.TypeFor[channel.Kind](): {
			channel.KindString, channel.KindText, channel.KindSecret, channel.KindURL, channel.KindInt, channel.KindBool,
			channel.KindDuration, channel.KindChoice, channel.KindMap, channel.KindSecrets, channel.KindList,
		},
	}
}

func anyOf[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// kept are the fields that the server fills in, of the things that are put as they are read.
var kept = map[reflect.Type][]string{
	reflect.TypeFor[posthouse.Channel]():  {"tenant", "name", "version", "paused", "pause_reason", "created_at", "updated_at"},
	reflect.TypeFor[posthouse.Template](): {"tenant", "name", "version", "variables", "created_at"},
	reflect.TypeFor[posthouse.Roster]():   {"tenant", "name", "updated_at"},
	reflect.TypeFor[posthouse.Agent]():    {"tenant", "state", "reason", "key", "app", "last_seen_at", "created_at", "updated_at"},
	reflect.TypeFor[posthouse.User]():     {"tenant", "updated_at"},
}

// complete adds to the schemas what Go types do not say.
func complete(schemas huma.Registry) {
	values := choices()
	for name, s := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		for _, f := range reflect.VisibleFields(t) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := s.Properties[field]; p != nil && field != "" {
				describeField(p, f.Type, values)
				p.ReadOnly = slices.Contains(kept[t], field)
			}
		}
	}
}

// describeField adds what is allowed. Lists are never null: the API answers empty ones.
func describeField(s *huma.Schema, t reflect.Type, values map[reflect.Type][]any) {
	switch {
	case t.Kind() == reflect.Pointer:
		describeField(s, t.Elem(), values)
	case t == reflect.TypeFor[json.RawMessage]():
		s.Type = huma.TypeObject
	case t == reflect.TypeFor[posthouse.Duration]():
		s.Examples = []any{"90s", "1h30m", "7d"}
	case values[t] != nil:
		s.Enum = values[t]
	case t.Kind() == reflect.Slice:
		s.Nullable = false
		describeField(s.Items, t.Elem(), values)
	case t.Kind() == reflect.Map:
		if of, ok := s.AdditionalProperties.(*huma.Schema); ok {
			describeField(of, t.Elem(), values)
		}
	}
}
