package remote

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func taskGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("task", "Tasks of workflows: tell what happened, see who was told",
		taskEvent(sh), taskList(sh), taskShow(sh)))
}

func taskEvent(sh *shell.Shell) *cobra.Command {
	var file, key string
	cmd := &cobra.Command{
		Use: "event", Short: "Tell an event of a task, or many", Args: shell.Takes(),
		Example: `  posthouse task event -f created.json
  echo '{"event": "task.finished", "task_id": "1001"}' | posthouse task event`,
		Long: `Tell an event of a task, or many: {"events": […]}, as POST /v1/workflow/events takes them. An
event may be told twice, and events in any order.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			text, err := sh.ReadFile(file)
			if err != nil {
				return err
			}
			out, err := c.Tasks.TellJSON(ctx, key, text)
			if err != nil {
				return err
			}
			return sh.Show(out, func() {
				for _, o := range out {
					printOutcome(sh, o)
				}
			})
		}),
	}
	cmd.Flags().StringVarP(&file, "file", "f", "-", "the `FILE` with the JSON, - for standard input")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "a `KEY` with which this very command can be repeated (default a new one)")
	return cmd
}

func printOutcome(sh *shell.Shell, o wire.TaskOutcome) {
	news := sh.Text("nothing new")
	if o.Changed {
		news = sh.Text("taken in")
	}
	sh.Printf("%s of task %s: %s\n", o.Event, o.Task, news)
	if len(o.Told) > 0 {
		notices := make([]wire.TaskNotice, len(o.Told))
		for i, told := range o.Told {
			notices[i].Told = told
		}
		printNotices(sh, notices)
	}
	if len(o.Withdrawn) > 0 {
		sh.Printf("withdrawn: %s\n", shell.Words(o.Withdrawn))
	}
	printWarnings(sh, o.Warnings)
}

func printNotices(sh *shell.Shell, list []wire.TaskNotice) {
	var rows [][]string
	for _, n := range list {
		made := strings.Join(n.Messages, " ")
		if n.Reminder != "" {
			made = sh.Text("reminder %s", n.Reminder)
		}
		if n.Withdrawn {
			made += sh.Text(" (withdrawn)")
		}
		rows = append(rows, []string{n.Key, n.Kind, n.Channel, sh.At(n.NotBefore), made})
	}
	sh.Table([]string{"Key", "Kind", "Channel", "Not before", "Message"}, rows)
}

func printWarnings(sh *shell.Shell, list []wire.TaskWarning) {
	for _, w := range list {
		sh.Printf("%s: %s: %s\n", sh.Says("warning"), w.Code, sh.Says(w.Detail))
	}
}

func taskList(sh *shell.Shell) *cobra.Command {
	var f client.Filter
	cmd := &cobra.Command{
		Use: "list", Short: "List the tasks that events have named", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			page, err := c.Tasks.List(ctx, f)
			if err != nil {
				return err
			}
			return sh.Show(page, func() {
				var rows [][]string
				for _, t := range page.Items {
					rows = append(rows, []string{t.Task, t.Name, t.State, strconv.Itoa(t.Notices), strconv.Itoa(t.Warnings), sh.At(t.UpdatedAt)})
				}
				sh.Table([]string{"Task", "Name", "State", "Notices", "Warnings", "Updated"}, rows)
				sh.More(page.Next)
			})
		}),
	}
	shell.PageFlags(cmd.Flags(), &f.Limit, 100, &f.Cursor)
	return cmd
}

func taskShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "Show what is known of a task, and who was told", Args: shell.Takes("TASK"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Tasks.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(t, func() { printTask(sh, t) })
		}),
	}
}

func printTask(sh *shell.Shell, t wire.TaskReport) {
	fields := [][2]string{{"task", t.Task}, {"state", t.State}, {"reason", t.Reason}, {"ended", sh.At(t.Ended)}, {"last error", shell.Cut(t.Error, 200)}, {"tried again", sh.At(t.NextAt)}, {"updated", sh.At(t.UpdatedAt)}}
	if t.About != nil {
		fields = append(fields, [2]string{"name", t.About.Name}, [2]string{"code", t.About.Code}, [2]string{"created by", t.About.Creator}, [2]string{"channels", shell.Words(t.About.Channels)})
	}
	sh.Fields(fields...)
	if len(t.Nodes) > 0 {
		sh.Printf("\n")
		var rows [][]string
		for _, n := range t.Nodes {
			rows = append(rows, []string{n.Node, n.Name, strconv.Itoa(n.Round), sh.At(n.Started), sh.At(n.Done)})
		}
		sh.Table([]string{"Node", "Name", "Round", "Started", "Done"}, rows)
	}
	if len(t.Notices) > 0 {
		sh.Printf("\n")
		printNotices(sh, t.Notices)
	}
	printTaskMessages(sh, t)
	printWarnings(sh, t.Warnings)
}

func printTaskMessages(sh *shell.Shell, t wire.TaskReport) {
	var rows [][]string
	for _, m := range t.Messages {
		rows = append(rows, []string{m.ID, m.Kind, m.Channel, counts(m.Counts)})
	}
	if len(rows) > 0 {
		sh.Printf("\n")
		sh.Table([]string{"Message", "Kind", "Channel", "States"}, rows)
	}
	rows = nil
	for _, r := range t.Reminders {
		next := sh.At(r.NextAt)
		if r.NextAt.IsZero() {
			next = r.Reason
		}
		rows = append(rows, []string{r.ID, string(r.State), next, strconv.Itoa(r.Fired)})
	}
	if len(rows) > 0 {
		sh.Printf("\n")
		sh.Table([]string{"Reminder", "State", "Next", "Sent"}, rows)
	}
}
