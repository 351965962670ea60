package remote

import (
	"context"
	"strings"

	"github.com/posthouse/posthouse/wire"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/retry"
)

// namesOf makes a lister of one that reads things.
func namesOf[T any](list func(ctx context.Context, c *client.Client) ([]T, error), name func(T) string) shell.Lister {
	return func(ctx context.Context, c *client.Client) ([]string, error) {
		things, err := list(ctx, c)
		var out []string
		for _, thing := range things {
			out = append(out, name(thing))
		}
		return out, err
	}
}

func channelNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Channel, error) { return c.Channels.List(ctx) },
		func(ch posthouse.Channel) string { return ch.Name })(ctx, c)
}

func templateNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Template, error) {
		return c.Templates.List(ctx)
	},
		func(t posthouse.Template) string { return t.Name })(ctx, c)
}

func campaignNames(ctx context.Context, c *client.Client) ([]string, error) {
	page, err := c.Campaigns.List(ctx, "", client.Filter{Limit: 1000})
	return namesOf(func(context.Context, *client.Client) ([]wire.CampaignListed, error) { return page.Items, err },
		func(l wire.CampaignListed) string { return l.Name })(ctx, c)
}

func audienceNames(ctx context.Context, c *client.Client) ([]string, error) {
	page, err := c.Audiences.List(ctx, client.Filter{Limit: 1000})
	return namesOf(func(context.Context, *client.Client) ([]posthouse.Audience, error) { return page.Items, err },
		func(a posthouse.Audience) string { return a.Name })(ctx, c)
}

func frontNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Front, error) { return c.Fronts.List(ctx) },
		func(f posthouse.Front) string { return f.Name })(ctx, c)
}

func digestNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Digest, error) { return c.Digests.List(ctx) },
		func(d posthouse.Digest) string { return d.Name })(ctx, c)
}

func userIDs(ctx context.Context, c *client.Client) ([]string, error) {
	page, err := c.Users.List(ctx, client.Filter{Limit: 1000})
	return namesOf(func(context.Context, *client.Client) ([]posthouse.User, error) { return page.Items, err },
		func(u posthouse.User) string { return u.ID })(ctx, c)
}

func rosterNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Roster, error) { return c.Rosters.List(ctx) },
		func(r posthouse.Roster) string { return r.Name })(ctx, c)
}

func keyIDs(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Key, error) { return c.Keys.List(ctx) },
		func(k posthouse.Key) string { return k.ID + "\t" + k.Name })(ctx, c)
}

func presetNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]wire.Preset, error) { return c.Presets.List(ctx, "") },
		func(p wire.Preset) string { return p.Name })(ctx, c)
}

func tenantNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Tenant, error) { return c.Tenants.List(ctx) },
		func(t posthouse.Tenant) string { return t.Name })(ctx, c)
}

func routeNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]posthouse.Route, error) { return c.Routes.List(ctx) },
		func(r posthouse.Route) string { return r.Name })(ctx, c)
}

func agentIDs(ctx context.Context, c *client.Client) ([]string, error) {
	page, err := c.Agents.List(ctx, client.Filter{Limit: 1000})
	return namesOf(func(context.Context, *client.Client) ([]posthouse.Agent, error) { return page.Items, err },
		func(a posthouse.Agent) string { return a.ID })(ctx, c)
}

// completing has the user's shell complete the flags and first arguments of commands by what the server has now, and a command say which
// names are near one that the server does not know.
func completing(sh *shell.Shell, commands []*cobra.Command) []*cobra.Command {
	flags := map[string]shell.Lister{"channel": channelNames, "route": routeNames, "template": templateNames, "agent": agentIDs, "driver": driverNames, "preset": presetNames, "tenant": tenantNames}
	arguments := map[string]shell.Lister{
		"channel": channelNames, "template": templateNames, "route": routeNames, "roster": rosterNames, "agents": agentIDs, "key revoke": keyIDs, "key rotate": keyIDs, "key quota": keyIDs, "tenant": tenantNames, "channel drivers": driverNames,
		"campaign": campaignNames, "campaign add": nil, "audience": audienceNames, "audience add": nil,
		"digest": digestNames, "digest collection": nil, "digest leave": nil, "user": userIDs, "preset": presetNames, "preset list": nil, "preset diff": channelNames, "preset test": nil, "preset add": nil,
	}
	for _, path := range []string{"show", "rotate", "reveal", "delete"} {
		arguments["front "+path] = frontNames
	}
	var visit func(cmd *cobra.Command, path string)
	visit = func(cmd *cobra.Command, path string) {
		own := map[string]shell.Lister{}
		for name, list := range flags {
			if cmd.Flags().Lookup(name) != nil && path+" "+name != "job enqueue channel" { // there it is one of two
				_ = cmd.RegisterFlagCompletionFunc(name, sh.Complete(list)) // fails for a flag that is not there, or twice
				own[name] = list
			}
		}
		if cmd.Flags().Lookup("profile") != nil {
			own["profile"] = profileNames // the program's own, which are completed without a server
		}
		group, _, _ := strings.Cut(path, " ")
		list, named := arguments[path]
		if !named {
			list = arguments[group]
		}
		if cmd.HasSubCommands() || !strings.ContainsAny(cmd.Use, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			list = nil
		}
		sh.Suggest(cmd, list, own)
		if list != nil {
			complete := sh.Complete(list)
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return complete(cmd, args, typed)
			}
		}
		for _, below := range cmd.Commands() {
			visit(below, path+" "+below.Name())
		}
	}
	for _, cmd := range commands {
		visit(cmd, cmd.Name())
	}
	return commands
}

func profileNames(context.Context, *client.Client) ([]string, error) { return retry.Names(), nil }

func driverNames(ctx context.Context, c *client.Client) ([]string, error) {
	return namesOf(func(ctx context.Context, c *client.Client) ([]wire.Driver, error) { return c.Channels.Drivers(ctx) },
		func(d wire.Driver) string { return d.Name })(ctx, c)
}
