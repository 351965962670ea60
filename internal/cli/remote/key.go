package remote

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/wire"
)

func keyGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("key", "The API keys", keyList(sh), keyAdd(sh), keyRotate(sh), keyQuota(sh), keyRevoke(sh), keyNew(sh)))
}

func keyList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the keys, without their secrets", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Keys.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for _, k := range all {
					rows = append(rows, []string{k.ID, k.Name, scopeOf(k), limitsOf(sh, k), sh.At(k.CreatedAt), sh.At(k.LastUsedAt), endOf(sh, k), quotaText(sh, k.Quota), k.Note})
				}
				sh.Table([]string{"Key", "Name", "Scope", "Only", "Made", "Last used", "Ends", "Quota", "Note"}, rows)
			})
		}),
	}
}

// scopeOf is a key's scope, and whose key an agent's is.
func scopeOf(k posthouse.Key) string {
	if k.Agent == "" {
		text := string(k.Scope)
		for _, g := range k.Grants {
			text += ", " + string(g)
		}
		return text
	}
	return string(k.Scope) + " " + k.Agent
}

// limitsOf is what a key is narrowed to.
func limitsOf(sh *shell.Shell, k posthouse.Key) string {
	var parts []string
	for _, l := range []struct {
		name string
		list []string
	}{{"channels", k.Channels}, {"kinds", k.Kinds}, {"actions", k.Actions}} {
		if len(l.list) > 0 {
			parts = append(parts, sh.Label(l.name)+" "+strings.Join(l.list, ","))
		}
	}
	return strings.Join(parts, "; ")
}

// endOf is when a key ended or will.
func endOf(sh *shell.Shell, k posthouse.Key) string {
	switch {
	case !k.RevokedAt.IsZero():
		return sh.Text("revoked %s", sh.At(k.RevokedAt))
	case !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(time.Now()):
		return sh.Text("ended %s", sh.At(k.ExpiresAt))
	}
	return sh.At(k.ExpiresAt)
}

func keyAdd(sh *shell.Shell) *cobra.Command {
	var key wire.Key
	var expires, tenant string
	var grants []string
	var quota quotaFlags
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a key on the server; it is shown this once", Args: shell.Takes("NAME"),
		Example: `  posthouse key add crm --scope send --channel sms --kind order --expires 90d --note "ticket 4711"
  posthouse key add night-shift --scope admin --action 'channels.*' --action deliveries.read
  posthouse key add batch --scope send --requests 20/1s,600/1m --open 10000`,
	}
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		key.Name = args[0]
		if err := errors.Join(checkKey(key), quota.apply(cmd.Flags(), &key.Quota)); err != nil {
			return err
		}
		end, err := sh.Moment("--expires", expires)
		if err != nil {
			return err
		}
		key.ExpiresAt = end
		for _, g := range grants {
			key.Grants = append(key.Grants, posthouse.Grant(g))
		}
		k, err := createKey(ctx, c, tenant, key)
		if err != nil {
			return err
		}
		return sh.Show(k, func() { showSecret(sh, k.Secret) })
	})
	cmd.Flags().StringVar((*string)(&key.Scope), "scope", string(posthouse.ScopeSend), "what it may do, a `SCOPE`: read, send (and read), admin (everything); or agent (fetch and report)")
	cmd.Flags().StringVar(&key.Agent, "agent", "", "whose key it is, of the scope agent: an `ID` of posthouse agent list")
	cmd.Flags().StringVar(&key.Note, "note", "", "a `NOTE` for people")
	cmd.Flags().StringVar(&expires, "expires", "", "when it ends by itself, a `TIME` such as 90d (from now) or 2027-01-01")
	cmd.Flags().StringSliceVar(&key.Channels, "channel", nil, "the only `CHANNELS` that it sees and touches, with commas between")
	cmd.Flags().StringSliceVar(&key.Kinds, "kind", nil, "the only `KINDS` of messages that it sees and touches, with commas between")
	cmd.Flags().StringSliceVar(&key.Actions, "action", nil, "the only `ACTIONS` that it may do, such as messages.create, 'deliveries.*' or '*.read'")
	cmd.Flags().StringSliceVar(&grants, "grant", nil, "what it may do beyond its scope, a `LIST`: mention_all, to call everybody in a group")
	cmd.Flags().StringVar(&tenant, "tenant", "", "whose key it is, a `TENANT` (default the own one); only a key of the tenant default makes keys of others")
	quota.describe(cmd.Flags())
	return cmd
}

// createKey makes a key of a tenant, of the caller's own where none is named.
func createKey(ctx context.Context, c *client.Client, tenant string, key wire.Key) (wire.NewKey, error) {
	if tenant == "" {
		return c.Keys.Create(ctx, key)
	}
	return c.Tenants.AddKey(ctx, tenant, key)
}

func keyQuota(sh *shell.Shell) *cobra.Command {
	var f quotaFlags
	cmd := &cobra.Command{
		Use: "quota ID", Short: "Bound what a key may ask for; what no flag names stays", Args: shell.Takes("ID"),
		Example: `  posthouse key quota 7d2kq0v9x4ma --requests 20/1s,600/1m --open 10000
  posthouse key quota 7d2kq0v9x4ma --requests none --open 0`,
	}
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		all, err := c.Keys.List(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(k posthouse.Key) bool { return k.ID == args[0] })
		if at < 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no key %q", args[0])
		}
		q := all[at].Quota
		if err := f.apply(cmd.Flags(), &q); err != nil {
			return err
		}
		k, err := c.Keys.SetQuota(ctx, args[0], q)
		if err != nil {
			return err
		}
		return sh.Show(k, func() {
			sh.Fields([][2]string{{"key", k.ID}, {"name", k.Name}, {"quota", cmp.Or(quotaText(sh, k.Quota), sh.Text("none"))}}...)
		})
	})
	f.describe(cmd.Flags())
	return cmd
}

func keyRotate(sh *shell.Shell) *cobra.Command {
	var overlap posthouse.Duration
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Make another key like one, which goes on for a while; the new one is shown this once", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			k, err := c.Keys.Rotate(ctx, args[0], &overlap)
			if err != nil {
				return err
			}
			return sh.Show(k, func() {
				showSecret(sh, k.Secret)
				sh.Notef("  → %s ends in %s\n", args[0], overlap)
			})
		}),
	}
	overlap = posthouse.Duration(24 * time.Hour)
	cmd.Flags().TextVar(&overlap, "overlap", &overlap, "how long the old key goes on, a `DURATION` up to 30d; 0s ends it at once")
	return cmd
}

// checkKey looks whether a key of an agent says whose it is, and no other does.
func checkKey(key wire.Key) error {
	agents := key.Scope == posthouse.ScopeAgent
	switch {
	case agents && key.Agent == "":
		return shell.Usagef("--agent is missing: whose key it is; posthouse agent list names them")
	case !agents && key.Agent != "":
		return shell.Usagef("--agent goes with --scope agent")
	}
	return nil
}

func keyRevoke(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Aliases: []string{"revoke"}, Short: "End a key", Args: shell.Takes("ID"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Keys.Revoke(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "revoked")
		}),
	}
}

// keyNew calls no server: it makes a key for a server that is yet to start.
func keyNew(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "new", Short: "Draw a key for a server that is yet to start, as its POSTHOUSE_API_KEY", Args: shell.Takes(),
		RunE: func(*cobra.Command, []string) error {
			key := secret.FormatKey(secret.NewKey())
			return sh.Show(map[string]string{"key": key}, func() { sh.Printf("%s\n", key) })
		},
	}
}

// showSecret prints a key alone, so that a shell can keep it in a variable, and what to do with it beside it.
func showSecret(sh *shell.Shell, key string) {
	sh.Printf("%s\n", key)
	sh.Notef("  → shown this once: keep it\n")
}
