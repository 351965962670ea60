// Package notify takes over what a notification service built to the document has in its tables: templates, people, and jobs with
// their recipients. It can be repeated, and goes on where it was stopped: what is there already is passed over. The front that
// speaks the document's words is internal/front/notify.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/retold"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/store/foreign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// Options makes an import. From, To and Zone are required.
type Options struct {
	retold.Options
	From *foreign.Notify
	// Zone is that of times that name none.
	Zone *time.Location
	// PlatformURL is put into payloads as the server does. Defaults to none.
	PlatformURL string
}

// Table is what became of the rows of a table.
type Table struct {
	retold.Counts
	// Left could not be carried over, or were not to be.
	Left int `json:"left"`
}

// Report is what an import did. Lines name what was left out or is strange, one a line.
type Report struct {
	DryRun bool     `json:"dry_run"`
	Tables []Table  `json:"tables"`
	Lines  []string `json:"lines"`
}

// run is an import under way.
type run struct {
	Options
	now       time.Time
	epoch     int64
	report    Report
	templates map[string]posthouse.Template // that are there, or would be
}

// Run imports all tables: jobs last, because they are told by templates to people. The report has what was done until an error, too.
func Run(ctx context.Context, o Options) (Report, error) {
	o.Tenant, o.Batch = cmp.Or(o.Tenant, posthouse.DefaultTenant), cmp.Or(o.Batch, 200)
	r := &run{Options: o, now: time.Now(), templates: map[string]posthouse.Template{}, report: Report{DryRun: o.DryRun, Lines: []string{}}}
	var err error
	if r.epoch, err = o.To.Epochs.Epoch(ctx); err != nil {
		return r.report, err
	}
	for _, part := range []struct {
		name  string
		there bool
		work  func(context.Context, *Table) error
	}{
		{foreign.NotifyTemplates, o.From.Has(foreign.NotifyTemplates), r.takeTemplates},
		{foreign.NotifyChannels, o.From.Has(foreign.NotifyChannels), r.lookAtChannels},
		{peopleOf(o.From), o.From.Has(peopleOf(o.From)), r.takeUsers},
		{foreign.NotifyJobs, true, r.takeJobs},
	} {
		t := Table{Counts: retold.Counts{Name: part.name, Missing: !part.there}}
		if part.there {
			err = part.work(ctx, &t)
		}
		r.report.Tables = append(r.report.Tables, t)
		if err != nil {
			return r.report, fmt.Errorf("import %s: %w", part.name, err)
		}
	}
	return r.report, nil
}

// peopleOf is the table that says who people are.
func peopleOf(from *foreign.Notify) string {
	if from.Has(foreign.NotifyUsers) {
		return foreign.NotifyUsers
	}
	return foreign.NotifyRecipients
}

// say adds a line to the report.
func (r *run) say(format string, args ...any) {
	r.report.Lines = append(r.report.Lines, fmt.Sprintf(format, args...))
}

// leave says why a row is not carried over.
func (r *run) leave(t *Table, row any, format string, args ...any) {
	t.Left++
	r.say("%s %v: %s", t.Name, row, fmt.Sprintf(format, args...))
}

// takeTemplates stores the templates whose names have none. Their placeholders stay visible where a payload lacks them, as they did.
func (r *run) takeTemplates(ctx context.Context, t *Table) error {
	list, err := r.From.Templates(ctx)
	if err != nil {
		return err
	}
	for _, row := range list {
		t.Rows++
		kind, channel := workflow.BizType(row.BizType).Kind(), flow.ChannelName(row.Channel)
		if kind == "" || channel == "" {
			r.leave(t, row.Row, "its biz_type %d and channel %d are none of the document", row.BizType, row.Channel)
			continue
		}
		if _, err := render.Parse(row.Title + row.Text); err != nil {
			r.leave(t, row.Row, "its text cannot be read as a template: %v", err)
			continue
		}
		tmpl := posthouse.Template{
			Tenant: r.Tenant, Name: flow.TemplateName(kind, channel), Title: row.Title, Text: row.Text, ExternalID: row.ExternalID, Disabled: !row.Enabled, Lenient: true,
		}
		if err := r.takeTemplate(ctx, t, row, tmpl); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) takeTemplate(ctx context.Context, t *Table, row work.NotifyTemplate, tmpl posthouse.Template) error {
	there, found, err := r.template(ctx, tmpl.Name)
	switch {
	case err != nil:
		return err
	case found && (there.Title != row.Title || there.Text != row.Text):
		t.There++
		r.say("%s %d: the template %s is there with another text, and stays as it is", t.Name, row.Row, tmpl.Name)
		return nil
	case found:
		t.There++
		return nil
	}
	t.New++
	if !r.DryRun {
		if tmpl, err = r.To.Templates.PutTemplate(ctx, r.now, tmpl); err != nil {
			return err
		}
	}
	r.templates[tmpl.Name] = tmpl
	return nil
}

// template is a template that is there, or would be.
func (r *run) template(ctx context.Context, name string) (posthouse.Template, bool, error) {
	if t, known := r.templates[name]; known {
		return t, true, nil
	}
	t, err := r.To.Templates.Template(ctx, r.Tenant, name, 0)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return t, false, nil
	}
	if err == nil {
		r.templates[name] = t
	}
	return t, err == nil, err
}

// lookAtChannels says how to configure the channels that are not: their settings are a person's to look at.
func (r *run) lookAtChannels(ctx context.Context, t *Table) error {
	list, err := r.From.Channels(ctx)
	if err != nil {
		return err
	}
	configured, err := r.To.Channels.Channels(ctx, r.Tenant)
	if err != nil {
		return err
	}
	for number, config := range list {
		t.Rows++
		name := flow.ChannelName(number)
		there := false
		for _, ch := range configured {
			there = there || ch.Channel.Name == name
		}
		switch {
		case there:
			t.There++
		case name == flow.ChannelDingTalk:
			r.leave(t, number, "configure it by posthouse channel set dingtalk --driver dingtalk --profile flow --config '%s'", gateway(config))
		default:
			r.leave(t, number, "configure the channel %q by posthouse channel set", name)
		}
	}
	return nil
}

// gateway are the three fields of a configuration that name DingTalk's gateway; what else it has may be secret.
func gateway(config string) string {
	var fields struct {
		BaseURL string `json:"baseUrl"`
		AgentID string `json:"agentId"`
		CorpID  string `json:"corpId"`
	}
	_ = json.Unmarshal([]byte(config), &fields) // what does not fit is left empty, for a person to see
	text, _ := json.Marshal(fields)             // texts: cannot fail
	return string(text)
}

// takeUsers enters the people whom the directory does not know. DingTalk knows them by their user names.
func (r *run) takeUsers(ctx context.Context, t *Table) error {
	list, err := r.From.Users(ctx)
	if err != nil {
		return err
	}
	var fresh []posthouse.User
	without := 0
	for _, u := range list {
		t.Rows++
		if u.ID == "" || len(u.ID) > 255 {
			r.leave(t, t.Rows, "the user id is %.60q: want 1 to 255 bytes", u.ID)
			continue
		}
		if _, err := r.To.Users.User(ctx, r.Tenant, u.ID); err == nil {
			t.There++
			continue
		} else if posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return err
		}
		entry := posthouse.User{Tenant: r.Tenant, ID: u.ID, Name: u.Name, Roles: u.Roles, Addresses: map[string]string{}}
		if u.Username != "" {
			entry.Addresses[flow.ChannelDingTalk] = u.Username
		} else {
			without++
		}
		fresh = append(fresh, entry)
	}
	if without > 0 {
		r.say("%s: %d people have no user name: dingtalk reaches them only once the directory has one (posthouse user import)", t.Name, without)
	}
	if t.New = len(fresh); r.DryRun || len(fresh) == 0 {
		return nil
	}
	return r.To.Users.PutUsers(ctx, r.now, r.Tenant, fresh)
}
