package remote

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

func jobGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("job", "Jobs by the numbers of the notification document",
		jobEnqueue(sh), jobList(sh), jobShow(sh), jobStop(sh, "cancel", "Cancel jobs: what was sent stays", flow.Cancelled),
		jobStop(sh, "abort", "Abort jobs, whose task ended abnormally: what was sent stays", flow.Aborted), jobDelete(sh)))
}

// bizType reads a business type, by its number or its name.
func bizType(text string) (workflow.BizType, error) {
	kinds := workflow.Kinds()
	if n, err := strconv.Atoi(text); err == nil && workflow.BizType(n).Valid() {
		return workflow.BizType(n), nil
	}
	if b, ok := workflow.BizTypeOf(text); ok {
		return b, nil
	}
	return 0, shell.Usagef("the business type %q is not one of 0 to %d or %s", text, len(kinds)-1, strings.Join(kinds, ", "))
}

func jobEnqueue(sh *shell.Shell) *cobra.Command {
	var j client.JobDraft
	var channel, payload, when string
	cmd := &cobra.Command{
		Use: "enqueue TYPE ID", Short: "Hand in a job about a task or a node", Args: shell.Takes("TYPE", "ID"),
		Example: `  posthouse job enqueue task_finished 1001 --channel oa --to u1,u2 \
    --payload '{"taskName": "应急成像-京津冀"}' --dedup-key 3_1001_0`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
			if j.BizType, err = bizType(args[0]); err != nil {
				return err
			}
			j.BizID = args[1]
			if j.Channel = slices.Index(flow.Channels(), channel); j.Channel < 0 {
				return shell.Usagef("--channel: is %q: jobs go to %s", channel, strings.Join(flow.Channels(), " or "))
			}
			if j.Payload, err = sh.Object("--payload", payload); err != nil {
				return err
			}
			if j.NextRunTime, err = sh.Moment("--at", when); err != nil {
				return err
			}
			made, err := c.Jobs.Enqueue(ctx, j)
			if err != nil {
				return err
			}
			return sh.Show(made, func() {
				if made.Existing {
					sh.Printf("%s: there already\n", made.JobID)
				} else {
					sh.Printf("%s: enqueued\n", made.JobID)
				}
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&channel, "channel", "", "the `CHANNEL`: oa or dingtalk")
	flags.StringSliceVar(&j.UserIDs, "to", nil, "the `USERS`, with commas between")
	flags.StringVar(&payload, "payload", "", "the template's values: a `JSON` object, @FILE, or -")
	flags.StringVar(&j.DedupKey, "dedup-key", "", "a `KEY` by which a second job is found to be the first")
	flags.StringVar(&when, "at", "", "the `TIME` it is sent at: 10m, \"2026-10-01 08:30\" (default now)")
	flags.StringVar(&j.Operator, "operator", "", "`WHO` hands it in")
	return cmd
}

// jobListing lists jobs by what is named of them.
type jobListing struct {
	*shell.Shell
	statuses     []string
	ref          string
	since, until string
	filter       client.JobFilter
	limit        int
}

func jobList(sh *shell.Shell) *cobra.Command {
	l := &jobListing{Shell: sh}
	cmd := &cobra.Command{
		Use: "list [TYPE [ID]]", Short: "List jobs by status, by what they are about, or by time", Args: shell.UpTo(2),
		Long: `List jobs, without deleted ones: all of them, those of a TYPE, or those about one task or node, its ID.
The flags narrow what is listed. Jobs that come again stand first, then the others, newest first.`,
		Example: `  posthouse job list --status failed --since 1d
  posthouse job list node_timeout 8882`,
		RunE: sh.Over(l.run),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&l.statuses, "status", nil, "only those with one of the `STATUSES`: "+strings.Join(statusNames(), ", "))
	flags.StringVar(&l.ref, "ref", "", "only those about this task or node, its `ID`")
	flags.StringVar(&l.since, "since", "", "handed in from this `TIME` on: 2h ago is 2h")
	flags.StringVar(&l.until, "until", "", "handed in before this `TIME`")
	flags.IntVar(&l.limit, "limit", 50, "how many at most, a `NUMBER`")
	flags.StringVar(&l.filter.Cursor, "cursor", "", "where the page before ended, a `CURSOR`")
	return cmd
}

func statusNames() (names []string) {
	for s := flow.Waiting; s.Valid(); s++ {
		names = append(names, s.String())
	}
	return names
}

// statusNumber reads a status, by its number or its name.
func statusNumber(text string) (int, error) {
	for n, name := range statusNames() {
		if text == name || text == strconv.Itoa(n) {
			return n, nil
		}
	}
	return 0, shell.Usagef("--status: is %q: want 0 to 4 or one of %s", text, strings.Join(statusNames(), ", "))
}

// read fills the filter in.
func (l *jobListing) read(args []string) (err error) {
	if len(args) > 0 {
		b, err := bizType(args[0])
		if err != nil {
			return err
		}
		l.filter.BizTypes = []workflow.BizType{b}
	}
	switch {
	case len(args) > 1 && l.ref != "":
		return shell.Usagef("--ref stands beside the ID %s: give one of them", args[1])
	case len(args) > 1:
		l.ref = args[1]
	}
	l.filter.BizID = l.ref
	for _, text := range l.statuses {
		n, err := statusNumber(text)
		if err != nil {
			return err
		}
		l.filter.Statuses = append(l.filter.Statuses, n)
	}
	if l.filter.Since, err = l.Past("--since", l.since); err != nil {
		return err
	}
	l.filter.Until, err = l.Past("--until", l.until)
	return err
}

func (l *jobListing) run(ctx context.Context, c *client.Client, args []string) error {
	if err := l.read(args); err != nil {
		return err
	}
	found := wire.Page[wire.Job]{Items: []wire.Job{}}
	for { // a page may be shorter than asked for
		l.filter.Limit = min(l.limit-len(found.Items), 1000)
		page, err := c.Jobs.List(ctx, l.filter)
		if err != nil {
			return err
		}
		found.Items, found.Next = append(found.Items, page.Items...), page.Next
		if l.filter.Cursor = page.Next; page.Next == "" || len(found.Items) >= l.limit {
			break
		}
	}
	return l.Show(found, func() {
		var rows [][]string
		for _, j := range found.Items {
			rows = append(rows, []string{
				j.ID, workflow.BizType(j.BizType).Kind() + " " + j.BizID, flow.ChannelName(j.Channel), jobState(l.Shell, j), fmt.Sprint(len(j.Recipients)), nextRun(l.Shell, j), j.DedupKey,
			})
		}
		l.Table([]string{"Job", "About", "Channel", "Status", "Recipients", "Next run", "Dedup key"}, rows)
		l.More(found.Next)
	})
}

func jobStatus(n int) string { return fmt.Sprintf("%d %s", n, flow.Status(n)) }

// jobState is a job's status, in words where it waits for a person.
func jobState(sh *shell.Shell, j wire.Job) string {
	if j.State == "held" {
		return sh.Text("%d held for a person", j.Status)
	}
	return jobStatus(j.Status)
}

// nextRun is when a job is sent; one that is held is not.
func nextRun(sh *shell.Shell, j wire.Job) string {
	if j.State == "held" {
		return ""
	}
	return sh.At(j.NextRunTime)
}

func jobShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB", Short: "Show a job with its recipients", Args: shell.Takes("JOB"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			j, err := c.Jobs.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(j, func() { printJob(sh, j) })
		}),
	}
}

func printJob(sh *shell.Shell, j wire.Job) {
	deleted := ""
	if j.DelFlag != 0 {
		deleted = sh.Text("yes") + by(sh, j.UpdateBy)
	}
	sh.Fields([][2]string{
		{"job", j.ID}, {"about", workflow.BizType(j.BizType).Kind() + " " + j.BizID}, {"channel", flow.ChannelName(j.Channel)}, {"status", jobState(sh, j)},
		{"retries", fmt.Sprint(j.RetryCount)}, {"next run", nextRun(sh, j)}, {"dedup key", j.DedupKey}, {"remark", j.Remark},
		{"made", sh.At(j.CreateTime) + by(sh, j.CreateBy)}, {"changed", sh.At(j.UpdateTime) + by(sh, j.UpdateBy)}, {"deleted", deleted}, {"payload", string(j.Payload)},
	}...)
	var rows [][]string
	for _, r := range j.Recipients {
		rows = append(rows, []string{r.UserID, jobStatus(r.Status), r.ExternalMsgID, shell.Cut(r.LastError, 50)})
	}
	if len(rows) > 0 {
		sh.Table([]string{"User", "Status", "Provider's id", "Error"}, rows)
	}
}

func by(sh *shell.Shell, who string) string {
	if who == "" {
		return ""
	}
	return sh.Text(" by %s", who)
}

func jobStop(sh *shell.Shell, use, short string, status flow.Status) *cobra.Command {
	return jobChange(sh, use, short, func(ctx context.Context, c *client.Client, b workflow.BizType, ids []string, operator string) (int, error) {
		return c.Jobs.Update(ctx, client.JobStatus{BizType: b, BizIDs: ids, Status: int(status), Operator: operator})
	})
}

func jobDelete(sh *shell.Shell) *cobra.Command {
	return jobChange(sh, "delete", "Delete jobs, and free their dedup keys", func(ctx context.Context, c *client.Client, b workflow.BizType, ids []string, operator string) (int, error) {
		return c.Jobs.Delete(ctx, b, ids, operator)
	})
}

func jobChange(sh *shell.Shell, use, short string, change func(ctx context.Context, c *client.Client, b workflow.BizType, ids []string, operator string) (int, error)) *cobra.Command {
	var operator string
	cmd := &cobra.Command{
		Use: use + " TYPE ID...", Short: short, Args: shell.Some("TYPE", "ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			b, err := bizType(args[0])
			if err != nil {
				return err
			}
			changed, err := change(ctx, c, b, args[1:], operator)
			if err != nil {
				return err
			}
			return sh.Show(map[string]int{"changed": changed}, func() { sh.Printf("%d changed\n", changed) })
		}),
	}
	cmd.Flags().StringVar(&operator, "operator", "", "`WHO` does it")
	return cmd
}
