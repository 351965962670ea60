package flow

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/workflow"
)

// FLOW-10: six kinds on two channels, with the document's ids and short titles.
func TestDefaultTemplatesCoverEveryKindAndChannel(t *testing.T) {
	t.Parallel()
	var names []string
	for i, tmpl := range DefaultTemplates() {
		names = append(names, tmpl.Name)
		if want := fmt.Sprintf("SE%d", 1001+i/2); tmpl.ExternalID != want || tmpl.Lenient || tmpl.Disabled {
			t.Errorf("%s: %+v, want the id %s", tmpl.Name, tmpl, want)
		}
		if title := regexp.MustCompile(`\$\{\w+\}`).ReplaceAllString(tmpl.Title, ""); utf8.RuneCountInString(title) > 6 {
			t.Errorf("%s leaves little of 20 characters to the task's name: %q", tmpl.Name, tmpl.Title)
		}
	}
	for _, kind := range workflow.Kinds() {
		for _, channel := range Channels() {
			if !slices.Contains(names, TemplateName(kind, channel)) {
				t.Errorf("there is no template %s", TemplateName(kind, channel))
			}
		}
	}
}

// FLOW-10: every default template finds all that it names in the notice of its kind, also where a node has no
// time limit.
func TestEveryNoticeFillsItsDefaultTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld()
	f := w.flow(t)
	named := regexp.MustCompile(`\$\{(\w+)\}`)
	texts := map[string]string{}
	for _, tmpl := range DefaultTemplates() {
		texts[tmpl.Name] = tmpl.Title + tmpl.Text
	}
	w.refuse = func(d posthouse.Draft) string {
		var payload map[string]any
		if err := json.Unmarshal(d.Payload, &payload); err != nil {
			return err.Error()
		}
		for _, m := range named.FindAllStringSubmatch(texts[TemplateName(d.Kind, d.Channel)], -1) {
			counted := d.Clock != nil && (m[1] == "remainMin" && !d.Clock.Until.IsZero() || m[1] == "overtime" && !d.Clock.Since.IsZero())
			if payload[m[1]] == nil && !counted {
				return m[1] + " is missing"
			}
		}
		return ""
	}
	task := workflow.Task{Name: "应急成像-京津冀", Creator: "boss", Nodes: []workflow.Node{
		{ID: "1", Name: "受理", Roles: []string{"planner"}, Next: []string{"2"}, MaxDuration: 60, TimeoutRemind: 30},
		{ID: "2", Name: "资源确认", Roles: []string{"operator"}},
	}}
	told := map[string]bool{}
	for _, e := range []workflow.Event{
		{Type: workflow.TaskCreated, Task: "1001", Created: &task},
		{Type: workflow.NodeActivated, Task: "1001", Node: "1"},
		{Type: workflow.OrbitPlanChanged, Task: "1001", Orbits: []workflow.Orbit{{Number: 9, InTime: noon.Add(2 * time.Hour)}}},
		{Type: workflow.NodeDone, Task: "1001", Node: "1"},
		{Type: workflow.TaskFinished, Task: "1001"},
		{Type: workflow.TaskCreated, Task: "1002", Created: &task},
		{Type: workflow.TaskAborted, Task: "1002"},
	} {
		out, err := f.Apply(t.Context(), "t1", e)
		if err != nil || len(out[0].Warnings) > 0 {
			t.Errorf("%s: %v, %v", e.Type, out, err)
		}
		for _, n := range out[0].Told {
			told[n.Kind+"."+n.Channel] = true
		}
	}
	for name := range texts {
		if !told[name] {
			t.Errorf("nobody was told by %s", name)
		}
	}
}
