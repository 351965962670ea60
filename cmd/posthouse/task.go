package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
)

func (p *program) task() *cobra.Command {
	return calling(group("task", "Tasks of workflows: tell what happened, see who was told",
		p.taskEvent(), p.taskList(), p.taskShow()))
}

func (p *program) taskEvent() *cobra.Command {
	var file, key string
	cmd := &cobra.Command{
		Use: "event", Short: "Tell an event of a task, or many", Args: takes(),
		Example: `  posthouse task event -f created.json
  echo '{"event": "task.finished", "task_id": "1001"}' | posthouse task event`,
		Long: `Tell an event of a task, or many: {"events": […]}, as POST /v1/workflow/events takes them. An
event may be told twice, and events in any order.`,
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			text, err := p.readFile(file)
			if err != nil {
				return err
			}
			out, err := c.Tasks.TellJSON(ctx, key, text)
			if err != nil {
				return err
			}
			return p.show(out, func() {
				for _, o := range out {
					p.printOutcome(o)
				}
			})
		}),
	}
	cmd.Flags().StringVarP(&file, "file", "f", "-", "the `FILE` with the JSON, - for standard input")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "a `KEY` with which this very command can be repeated (default a new one)")
	return cmd
}

func (p *program) printOutcome(o client.TaskOutcome) {
	news := "nothing new"
	if o.Changed {
		news = "taken in"
	}
	p.printf("%s of task %s: %s\n", o.Event, o.Task, news)
	if len(o.Told) > 0 {
		p.printNotices(o.Told)
	}
	if len(o.Withdrawn) > 0 {
		p.printf("withdrawn: %s\n", words(o.Withdrawn))
	}
	p.printWarnings(o.Warnings)
}

func (p *program) printNotices(list []client.TaskNotice) {
	var rows [][]string
	for _, n := range list {
		made := strings.Join(n.Messages, " ")
		if n.Reminder != "" {
			made = "reminder " + n.Reminder
		}
		if n.Withdrawn {
			made += " (withdrawn)"
		}
		rows = append(rows, []string{n.Key, n.Kind, n.Channel, at(n.NotBefore), made})
	}
	p.printTable([]string{"Key", "Kind", "Channel", "Not before", "Message"}, rows)
}

func (p *program) printWarnings(list []client.TaskWarning) {
	for _, w := range list {
		p.printf("warning: %s: %s\n", w.Code, w.Detail)
	}
}

func (p *program) taskList() *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the tasks that events have named", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Tasks.List(ctx, f)
			if err != nil {
				return err
			}
			return p.show(page, func() {
				var rows [][]string
				for _, t := range page.Items {
					rows = append(rows, []string{t.ID, t.Name, t.State, strconv.Itoa(t.Notices), strconv.Itoa(t.Warnings), at(t.UpdatedAt)})
				}
				p.printTable([]string{"Task", "Name", "State", "Notices", "Warnings", "Updated"}, rows)
				if page.Next != "" {
					p.printf("  … and more: --cursor %s\n", page.Next)
				}
			})
		}),
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "how many at most, 1 to 1000")
	cmd.Flags().StringVar(&f.Cursor, "cursor", "", "where the page before ended, a `CURSOR`")
	return cmd
}

func (p *program) taskShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "Show what is known of a task, and who was told", Args: takes("TASK"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Tasks.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return p.show(t, func() { p.printTask(t) })
		}),
	}
}

func (p *program) printTask(t client.Task) {
	fields := [][2]string{{"task", t.ID}, {"state", t.State}, {"reason", t.Reason}, {"ended", at(t.Ended)}, {"last error", cut(t.Error, 200)}, {"tried again", at(t.NextAt)}, {"updated", at(t.UpdatedAt)}}
	if t.About != nil {
		fields = append(fields, [2]string{"name", t.About.Name}, [2]string{"code", t.About.Code}, [2]string{"created by", t.About.Creator}, [2]string{"channels", words(t.About.Channels)})
	}
	p.printFields(fields...)
	if len(t.Nodes) > 0 {
		p.printf("\n")
		var rows [][]string
		for _, n := range t.Nodes {
			rows = append(rows, []string{n.Node, n.Name, strconv.Itoa(n.Round), at(n.Started), at(n.Done)})
		}
		p.printTable([]string{"Node", "Name", "Round", "Started", "Done"}, rows)
	}
	if len(t.Notices) > 0 {
		p.printf("\n")
		p.printNotices(t.Notices)
	}
	p.printTaskMessages(t)
	p.printWarnings(t.Warnings)
}

func (p *program) printTaskMessages(t client.Task) {
	var rows [][]string
	for _, m := range t.Messages {
		rows = append(rows, []string{m.ID, m.Kind, m.Channel, counts(m.Counts)})
	}
	if len(rows) > 0 {
		p.printf("\n")
		p.printTable([]string{"Message", "Kind", "Channel", "States"}, rows)
	}
	rows = nil
	for _, r := range t.Reminders {
		next := at(r.NextAt)
		if r.NextAt.IsZero() {
			next = r.Reason
		}
		rows = append(rows, []string{r.ID, string(r.State), next, strconv.Itoa(r.Fired)})
	}
	if len(rows) > 0 {
		p.printf("\n")
		p.printTable([]string{"Reminder", "State", "Next", "Sent"}, rows)
	}
}
