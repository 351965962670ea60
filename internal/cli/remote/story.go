package remote

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func storyCommand(sh *shell.Shell) *cobra.Command {
	return sh.Calling(&cobra.Command{
		Use: "story DELIVERY", Aliases: []string{"trace"}, Short: "Tell all that happened to a delivery: every request, transition, hand-out and report",
		Args: shell.Takes("DELIVERY"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if !posthouse.ValidID(args[0]) || posthouse.DeliveryNumber(args[0]) == 0 {
				return shell.Usagef("%q is not a delivery's id: posthouse status MESSAGE lists those of a message", args[0])
			}
			s, err := c.Deliveries.Story(ctx, args[0])
			if posthouse.CodeOf(err) == posthouse.CodeNotFound {
				if _, isOne, failed := notificationOf(ctx, c, args[0]); isOne && failed == nil {
					return shell.Usagef("%s is a notification: its steps are told by posthouse notification show", args[0])
				}
			}
			if err != nil {
				return err
			}
			return sh.Show(s, func() { printStory(sh, s) })
		}),
	})
}

func printStory(sh *shell.Shell, s wire.Story) {
	text := shell.Cut(s.Message.Content.Text, 200)
	if s.Message.Sensitive {
		text = sh.Text("(sensitive: not shown)")
	}
	d := s.Delivery
	sh.Fields([][2]string{
		{"delivery", d.ID}, {"channel", d.Channel}, {"kind", s.Message.Kind}, {"ref", s.Message.Ref}, {"recipient", d.User}, {"address", d.Address},
		{"title", s.Message.Content.Title}, {"text", text}, {"state", string(d.State)}, {"reason", d.Reason}, {"last error", sh.Tells(d.Error)}, {"provider ref", d.ProviderRef},
	}...)
	sh.Printf("\n")
	var rows [][]string
	for _, m := range moments(sh, s) {
		rows = append(rows, []string{sh.At(m.at), m.what, m.who, m.detail})
	}
	sh.Table([]string{"At", "What", "Who", "Detail"}, rows)
}

// storyLine is one line of a story.
type storyLine struct {
	at                time.Time
	what, who, detail string
}

// moments are the events and the lines of the logs in the order they happened. What is of one time stands as it
// follows from one another: the request, the events, what an agent was handed and said.
func moments(sh *shell.Shell, s wire.Story) []storyLine {
	var out []storyLine
	for _, l := range s.Received {
		out = append(out, storyLine{l.At, sh.Text("request"), cmp.Or(l.SourceIP, l.UserAgent), sh.Text("answered %d", l.Status)})
	}
	for _, e := range s.Events {
		out = append(out, storyLine{e.At, sh.Event(e.Type), agentOf(e.Owner), eventDetail(e)})
	}
	for _, l := range s.HandedOut {
		out = append(out, storyLine{l.At, sh.Text("handed out"), l.Agent, sh.Text("token %d", l.Token)})
	}
	for _, l := range s.Reported {
		out = append(out, storyLine{l.At, sh.Text("report %s", l.Outcome), l.Agent, joinWords(l.Answer, sh.Cut(l.Error, 60))})
	}
	slices.SortStableFunc(out, func(a, b storyLine) int { return a.at.Compare(b.at) })
	return out
}

// agentOf is the agent that a lease's owner is, empty for a process of the server.
func agentOf(owner string) string {
	if agent, ok := strings.CutPrefix(owner, "agent/"); ok {
		return agent
	}
	return ""
}

// eventDetail is where an event led, and why.
func eventDetail(e posthouse.Event) string {
	return joinWords("→ "+string(e.To), joinWords(e.Reason, joinWords(e.Code, shell.Cut(e.Error, 60))))
}

func joinWords(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
