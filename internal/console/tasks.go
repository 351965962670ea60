package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/wire"
)

func showTasks(v *visit) error {
	page, err := v.call().Tasks.List(v.ctx(), client.Filter{Cursor: v.query("cursor"), Limit: pageLength})
	t := table{Columns: []string{"task", "title", "state", "notices", "warnings", "changed"}, Next: page.Next, Empty: "no_task", Hints: []string{"posthouse task event -f event.json"}}
	for _, one := range page.Items {
		t.Rows = append(t.Rows, []cell{{Text: one.Task, Link: v.at("tasks", one.Task)}, plain(one.Name), {Word: "task_" + one.State}, plain(fmt.Sprint(one.Notices)), plain(fmt.Sprint(one.Warnings)), when(one.UpdatedAt)})
	}
	return v.table("tasks", t, err)
}

// showTask shows who was told of a task, what comes next, and what could not be as it was meant.
func showTask(v *visit) error {
	t, err := v.call().Tasks.Get(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show("task", "tasks", t)
}

// reminders is a page of the list of reminders.
type reminders struct {
	wire.Page[wire.Reminder]
	Kind, Ref string
	// Held says that those alone are listed that a new epoch holds, AnyHeld that there are some.
	Held, AnyHeld bool
	Older         string // the query of the next page
}

func showReminders(v *visit) error {
	r := reminders{Kind: v.query("kind"), Ref: v.query("ref"), Held: v.query("held") == "true"}
	var err error
	if r.Page, err = v.call().Reminders.List(v.ctx(), client.Filter{Kind: r.Kind, Ref: r.Ref, Held: r.Held, Cursor: v.query("cursor"), Limit: pageLength}); err != nil {
		return err
	}
	held, err := v.call().Reminders.List(v.ctx(), client.Filter{Held: true, Limit: 1})
	if err != nil {
		return err
	}
	r.AnyHeld = len(held.Items) > 0 || r.Held
	r.Older = v.onward(r.Next)
	return v.show("reminders", "reminders", r)
}

// Called is what a list calls a reminder: what its messages say, or what they are of.
func (f frame) Called(r wire.Reminder) string {
	said := ""
	if c := r.Draft.Content; c != nil {
		said, _, _ = strings.Cut(cmp.Or(c.Title, c.Text), "\n")
	}
	return f.Short(cmp.Or(strings.TrimSpace(said), r.Draft.Template, r.Task, r.Draft.Kind, r.ID))
}

// Standing is how a reminder stands, in a word.
func (frame) Standing(r wire.Reminder) string { return standing(r) }

// recalled is what the page of a reminder shows.
type recalled struct {
	wire.Reminder
	Last *wire.Message // its last message, nil for none
}

// showReminder shows when a reminder comes, what it has sent, and what became of the last message.
func showReminder(v *visit) error {
	r, err := v.call().Reminders.Get(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	out := recalled{Reminder: r}
	if r.Message != "" {
		last, err := v.call().Messages.Page(v.ctx(), r.Message, "", pageLength)
		switch {
		case err == nil:
			out.Last = &last
		case posthouse.CodeOf(err) != posthouse.CodeNotFound: // it was pruned before its reminder
			return err
		}
	}
	return v.show("reminder", "reminders", out)
}

// Standing is how it stands, in a word.
func (r recalled) Standing() string { return standing(r.Reminder) }

// Scheduled says that the form of schedules shows it.
func (r recalled) Scheduled() bool { return r.Pausable() && r.Repeat != nil && r.Repeat.Cron != "" }

// Pausable says that it is paused and resumed: a task's is the workflow's, but for one that a new epoch holds.
func (r recalled) Pausable() bool {
	return r.State == posthouse.ReminderOpen && (r.Task == "" || r.Held())
}

// Held says that a new epoch holds it.
func (r recalled) Held() bool { return remind.Held(r.Reminder.Reminder) }

// Ahead are the slots that are still to come.
func (r recalled) Ahead() []time.Time {
	return slices.DeleteFunc(slices.Clone(r.Reminder.Slots), func(t time.Time) bool { return t.IsZero() })
}
