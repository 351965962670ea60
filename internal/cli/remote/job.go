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
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

func jobGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("job", "Jobs by the numbers of the notification document",
		jobEnqueue(sh), jobList(sh), jobShow(sh), jobStop(sh, "cancel", "Cancel jobs: what was sent stays", workflow.Cancelled),
		jobStop(sh, "abort", "Abort jobs, whose task ended abnormally: what was sent stays", workflow.Aborted), jobDelete(sh)))
}

// bizType reads a business type, by its number or its name.
func bizType(text string) (int, error) {
	kinds := workflow.Kinds()
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < len(kinds) {
		return n, nil
	}
	if n := slices.Index(kinds, text); n >= 0 {
		return n, nil
	}
	return 0, shell.Usagef("the business type %q is not one of 0 to %d or %s", text, len(kinds)-1, strings.Join(kinds, ", "))
}

func jobEnqueue(sh *shell.Shell) *cobra.Command {
	var j client.JobDraft
	var channel, payload, when string
	cmd := &cobra.Command{
		Use: "enqueue TYPE ID", Short: "Hand in a job about a task or a node", Args: shell.Takes("TYPE", "ID"),
		Example: `  posthouse job enqueue task_finished 1001 --channel oa --to u1,u2 --payload '{"taskName": "应急成像-京津冀"}' --dedup-key 3_1001_0`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) (err error) {
			if j.BizType, err = bizType(args[0]); err != nil {
				return err
			}
			j.BizID = args[1]
			if j.Channel = slices.Index(workflow.Channels(), channel); j.Channel < 0 {
				return shell.Usagef("--channel is %q: jobs go to %s", channel, strings.Join(workflow.Channels(), " or "))
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

func jobList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list TYPE ID", Short: "List the jobs about a task or a node", Args: shell.Takes("TYPE", "ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			n, err := bizType(args[0])
			if err != nil {
				return err
			}
			list, err := c.Jobs.List(ctx, n, args[1])
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, j := range list {
					rows = append(rows, []string{j.ID, workflow.ChannelName(j.Channel), jobState(j), fmt.Sprint(len(j.Recipients)), nextRun(sh, j), j.DedupKey})
				}
				sh.Table([]string{"Job", "Channel", "Status", "Recipients", "Next run", "Dedup key"}, rows)
			})
		}),
	}
}

func jobStatus(n int) string { return fmt.Sprintf("%d %s", n, workflow.Status(n)) }

// jobState is a job's status, in words where it waits for a person.
func jobState(j wire.Job) string {
	if j.State == "held" {
		return fmt.Sprintf("%d held for a person", j.Status)
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
		deleted = "yes" + by(j.UpdateBy)
	}
	sh.Fields([][2]string{
		{"job", j.ID}, {"about", workflow.BizType(j.BizType).Kind() + " " + j.BizID}, {"channel", workflow.ChannelName(j.Channel)}, {"status", jobState(j)},
		{"retries", fmt.Sprint(j.RetryCount)}, {"next run", nextRun(sh, j)}, {"dedup key", j.DedupKey}, {"remark", j.Remark},
		{"made", sh.At(j.CreateTime) + by(j.CreateBy)}, {"changed", sh.At(j.UpdateTime) + by(j.UpdateBy)}, {"deleted", deleted}, {"payload", string(j.Payload)},
	}...)
	var rows [][]string
	for _, r := range j.Recipients {
		rows = append(rows, []string{r.UserID, jobStatus(r.Status), r.ExternalMsgID, shell.Cut(r.LastError, 50)})
	}
	if len(rows) > 0 {
		sh.Table([]string{"User", "Status", "Provider's id", "Error"}, rows)
	}
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

func jobStop(sh *shell.Shell, use, short string, status workflow.Status) *cobra.Command {
	return jobChange(sh, use, short, func(ctx context.Context, c *client.Client, n int, ids []string, operator string) (int, error) {
		return c.Jobs.Update(ctx, client.JobStatus{BizType: n, BizIDs: ids, Status: int(status), Operator: operator})
	})
}

func jobDelete(sh *shell.Shell) *cobra.Command {
	return jobChange(sh, "delete", "Delete jobs, and free their dedup keys", func(ctx context.Context, c *client.Client, n int, ids []string, operator string) (int, error) {
		return c.Jobs.Delete(ctx, n, ids, operator)
	})
}

func jobChange(sh *shell.Shell, use, short string, change func(ctx context.Context, c *client.Client, n int, ids []string, operator string) (int, error)) *cobra.Command {
	var operator string
	cmd := &cobra.Command{
		Use: use + " TYPE ID...", Short: short, Args: cobra.MinimumNArgs(2),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			n, err := bizType(args[0])
			if err != nil {
				return err
			}
			changed, err := change(ctx, c, n, args[1:], operator)
			if err != nil {
				return err
			}
			return sh.Show(map[string]int{"changed": changed}, func() { sh.Printf("%d changed\n", changed) })
		}),
	}
	cmd.Flags().StringVar(&operator, "operator", "", "`WHO` does it")
	return cmd
}
