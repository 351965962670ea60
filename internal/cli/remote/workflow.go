package remote

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/wire"
)

func workflowGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("workflow", "What notices of workflows need", workflowInit(sh)))
}

func workflowInit(sh *shell.Shell) *cobra.Command {
	document := false
	cmd := &cobra.Command{
		Use: "init", Short: "Store the default templates of workflow notices where there are none", Args: shell.Takes(),
		Long: `Store the default templates of workflow notices where there are none. With --document the channels
oa and dingtalk retry as the notification document does: also where nobody knows whether a try arrived,
at the risk that somebody is told twice. Without it such a try waits for a person.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			templates, err := c.Templates.Install(ctx)
			if err != nil {
				return err
			}
			out := initialised{InstalledTemplates: templates}
			if document {
				if out.Channels, err = retryUnknown(ctx, c); err != nil {
					return err
				}
			}
			return sh.Show(out, func() { out.print(sh) })
		}),
	}
	cmd.Flags().BoolVar(&document, "document", false, "retry as the notification document does, on the channels oa and dingtalk")
	return cmd
}

// initialised is what workflow init did. Channels are those that retry like the document now, or why not.
type initialised struct {
	wire.InstalledTemplates
	Channels map[string]string `json:"channels,omitempty"`
}

func (out initialised) print(sh *shell.Shell) {
	for _, name := range out.Installed {
		sh.Printf("%s: stored\n", name)
	}
	sh.Printf("%d stored, %d were there already and stay as they are\n", len(out.Installed), len(out.Kept))
	for _, name := range flow.Channels() {
		if what := out.Channels[name]; what != "" {
			sh.Printf("%s: %s\n", name, sh.Label(what))
		}
	}
}

// retryUnknown has the document's channels retry in its steps and send again what may have arrived, and says of each what became of it.
func retryUnknown(ctx context.Context, c *client.Client) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range flow.Channels() {
		ch, err := c.Channels.Get(ctx, name)
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeNotFound:
			out[name] = "not configured; run this again when it is"
			continue
		case err != nil:
			return out, err
		}
		ch.Profile, ch.OnUnknown = "flow", posthouse.Retry
		if _, _, err := c.Channels.Put(ctx, ch); err != nil {
			return out, err
		}
		out[name] = "profile: flow, on_unknown: retry"
	}
	return out, nil
}
