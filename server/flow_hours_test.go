package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// office is a server without its listener, in virtual time, with a console channel oa whose messages it keeps.
type office struct {
	*testing.T
	s     *Server
	mu    sync.Mutex
	text  strings.Builder
	start time.Time
}

func (o *office) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// printed are the messages since it was last asked, sorted, each with its recipient and its text.
func (o *office) printed() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(o.text.String()), "\n")
	o.text.Reset()
	slices.Sort(lines)
	return slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "oa -> ") })
}

func (o *office) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

// openOffice must be called in a bubble of synctest. close ends it.
func openOffice(t *testing.T) (o *office, close func()) {
	t.Helper()
	o = &office{T: t, start: time.Now()}
	ctx := t.Context()
	var err error
	o.s, err = New(ctx, Options{
		DSN: "sqlite:" + t.TempDir() + "/posthouse.db", Keyring: "test:dGhlIDMyIGJ5dGVzIG9mIGEga2V5IGZvciB0ZXN0cy4=", Announce: func(string) {},
		Poll: 5 * time.Second, RescueEvery: time.Minute, Log: slog.New(slog.DiscardHandler), Output: o, Keep: -1,
	})
	o.must(err)
	o.must(o.s.engine.Start(ctx))
	o.must(o.s.channels.Reload(ctx))
	_, err = o.s.PutChannel(ctx, posthouse.DefaultTenant, posthouse.Channel{Name: "oa", Driver: "console"})
	o.must(err)
	for kind, text := range map[string]string{"orbit_remind": "${remainMin}", "node_timeout": "${overtime} ${maxDuration} ${originalMaxDuration}", "task_created": "new", "task_finished": "over"} {
		_, err := o.s.store.Templates.PutTemplate(ctx, time.Now(), posthouse.Template{Tenant: posthouse.DefaultTenant, Name: kind, Title: kind, Text: text})
		o.must(err)
	}
	return o, func() { o.must(o.s.Stop(context.WithoutCancel(ctx))) }
}

func (o *office) tell(events ...workflow.Event) {
	o.Helper()
	_, err := o.s.Flow().Apply(o.Context(), posthouse.DefaultTenant, events...)
	o.must(err)
}

// after waits until so many minutes after the start, and wants exactly these messages since it was last asked.
func (o *office) after(minutes int, want ...string) {
	o.Helper()
	time.Sleep(time.Until(o.start.Add(time.Duration(minutes) * time.Minute)))
	synctest.Wait()
	if diff := cmp.Diff(want, o.printed(), cmpopts.EquateEmpty()); diff != "" {
		o.Errorf("by minute %d (-want +got):\n%s", minutes, diff)
	}
}

// FLOW-7, FLOW-8, FLOW-18: hours of reminders and time-outs, each at its time, with the numbers and for the
// people of that moment, until there is nothing more to remind of.
func TestFLOW_RemindersAndTimeoutsComeForHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, end := openOffice(t)
		defer end()
		begun := workflow.Event{Type: workflow.NodeActivated, Task: "1", Node: "11", WorkItems: []workflow.WorkItem{{Assignee: "li.na", PhaseStatus: 1}}}
		o.tell(
			workflow.Event{Type: workflow.TaskCreated, Task: "1", Created: &workflow.Task{Name: "成像", Creator: "boss", Nodes: []workflow.Node{
				{ID: "11", Name: "受理", Users: []string{"li.na"}, MaxDuration: 80, TimeoutRemind: 30},
			}}},
			begun,
			workflow.Event{Type: workflow.OrbitPlanChanged, Task: "1", Orbits: []workflow.Orbit{{Number: 9, InTime: o.start.Add(70 * time.Minute)}}},
		)
		pass := func(left string) []string {
			return []string{`oa -> boss: "orbit_remind" "` + left + `"`, `oa -> li.na: "orbit_remind" "` + left + `"`}
		}
		o.after(9, `oa -> li.na: "task_created" "new"`)
		o.after(11, pass("60")...)
		o.after(26, pass("45")...)
		o.after(41, pass("30")...)
		o.after(56, pass("15")...)
		o.after(71, pass("0")...)
		o.after(81, `oa -> li.na: "node_timeout" "0 0 80"`)
		o.after(111, `oa -> li.na: "node_timeout" "30 30 80"`)
		begun.WorkItems[0].Assignee = "wang.fang"
		o.tell(begun)
		o.after(141, `oa -> wang.fang: "node_timeout" "60 60 80"`)
		o.after(201, `oa -> wang.fang: "node_timeout" "120 120 80"`, `oa -> wang.fang: "node_timeout" "90 90 80"`)
		o.tell(workflow.Event{Type: workflow.NodeDone, Task: "1", Node: "11"})
		o.after(600)
		o.tell(workflow.Event{Type: workflow.TaskFinished, Task: "1"})
		o.after(601, `oa -> boss: "task_finished" "over"`, `oa -> li.na: "task_finished" "over"`)
	})
}

// FLOW-10: of notices without templates each is told by itself once it has one, whatever the others wait for.
func TestFLOW_ANoticeIsToldOnceItHasATemplateWhateverOthersLack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, end := openOffice(t)
		defer end()
		o.must(o.s.store.Templates.DeleteTemplate(o.Context(), posthouse.DefaultTenant, "task_created"))
		o.tell(
			workflow.Event{Type: workflow.TaskCreated, Task: "1", Created: &workflow.Task{Name: "成像", Creator: "boss", Nodes: []workflow.Node{
				{ID: "11", Name: "受理", Users: []string{"li.na"}, Next: []string{"12"}}, {ID: "12", Name: "归档", Users: []string{"li.na"}},
			}}},
			workflow.Event{Type: workflow.NodeDone, Task: "1", Node: "11"},
		)
		o.after(5)
		_, err := o.s.store.Templates.PutTemplate(o.Context(), time.Now(), posthouse.Template{Tenant: posthouse.DefaultTenant, Name: "task_created", Text: "new"})
		o.must(err)
		o.after(20, `oa -> li.na: "new"`)
		s, err := o.s.Flow().Task(o.Context(), posthouse.DefaultTenant, "1")
		o.must(err)
		if s.NextAt.IsZero() || !strings.Contains(s.Error, `node_done on oa: content: is required: there is no template "node_done.oa"`) {
			o.Errorf("of the other it says %q, next %s", s.Error, s.NextAt)
		}
	})
}

// What was told so long ago that its messages, or some of their deliveries, were pruned is not told again when the
// task is described in other words.
func TestFLOW_WhatWasPrunedIsNotToldAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, end := openOffice(t)
		defer end()
		created := workflow.Event{Type: workflow.TaskCreated, Task: "1", Created: &workflow.Task{Name: "成像", Creator: "boss", Nodes: []workflow.Node{
			{ID: "11", Name: "受理", Users: []string{"li.na", "wang.fang"}},
		}}}
		o.tell(created)
		o.after(1, `oa -> li.na: "task_created" "new"`, `oa -> wang.fang: "task_created" "new"`)
		for i := range 2 { // one of both, then the other
			o.tell(workflow.Event{Type: workflow.NodeActivated, Task: "1", Node: "11", Round: i + 1}) // the task itself is kept
			_, err := o.s.store.Upkeep.Prune(o.Context(), time.Now(), work.KeepAll(30*time.Second), 1)
			o.must(err)
			created.Created.Name += "二"
			o.tell(created)
			o.after(2 + i)
		}
	})
}

// FLOW-9: somebody without a phone number keeps no text message from the others: he stands with the task as not reached.
func TestFLOW_SomebodyWithoutANumberKeepsNoTextFromTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, end := openOffice(t)
		defer end()
		_, err := o.s.PutChannel(o.Context(), posthouse.DefaultTenant, posthouse.Channel{Name: "phones", Driver: "pull"})
		o.must(err)
		out, err := o.s.Flow().Apply(o.Context(), posthouse.DefaultTenant, workflow.Event{Type: workflow.TaskCreated, Task: "1", Created: &workflow.Task{
			Name: "成像", Creator: "boss", Channels: []string{"phones"}, Nodes: []workflow.Node{{ID: "11", Name: "受理", Users: []string{"13800138000", "li.na", "13900139000"}}},
		}})
		o.must(err)
		if len(out[0].Told) != 1 || len(out[0].Warnings) != 1 || out[0].Warnings[0].Code != flow.NoAddress || !strings.Contains(out[0].Warnings[0].Detail, `"li.na" cannot be told on phones`) {
			o.Fatalf("the outcome is %+v", out[0])
		}
		list, _, err := o.s.store.Messages.DeliveriesOf(o.Context(), posthouse.DefaultTenant, out[0].Told[0].Messages[0], "", 10)
		o.must(err)
		var numbers []string
		for _, d := range list {
			numbers = append(numbers, d.Address)
		}
		if want := []string{"+8613800138000", "+8613900139000"}; !slices.Equal(numbers, want) {
			o.Errorf("it is for %v, want %v", numbers, want)
		}
	})
}
