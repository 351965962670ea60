package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
)

func (p *program) key() *cobra.Command {
	return calling(group("key", "The API keys", p.keyList(), p.keyAdd(), p.keyRevoke(), p.keyNew()))
}

func (p *program) keyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the keys, without their secrets", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Keys.List(ctx)
			if err != nil {
				return err
			}
			return p.show(all, func() {
				var rows [][]string
				for _, k := range all {
					rows = append(rows, []string{k.ID, k.Name, scopeOf(k), at(k.CreatedAt), at(k.RevokedAt)})
				}
				p.printTable([]string{"Key", "Name", "Scope", "Made", "Revoked"}, rows)
			})
		}),
	}
}

// scopeOf is a key's scope, and whose key an agent's is.
func scopeOf(k posthouse.Key) string {
	if k.Agent == "" {
		return string(k.Scope)
	}
	return string(k.Scope) + " " + k.Agent
}

func (p *program) keyAdd() *cobra.Command {
	var scope, agent string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a key on the server; it is shown this once", Args: takes("NAME"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			k, err := createKey(ctx, c, args[0], posthouse.Scope(scope), agent)
			if err != nil {
				return err
			}
			return p.show(k, func() { p.showSecret(k.Secret) })
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", string(posthouse.ScopeSend), "what it may do, a `SCOPE`: read, send (and read), admin (everything); or agent (fetch and report)")
	cmd.Flags().StringVar(&agent, "agent", "", "whose key it is, of the scope agent: an `ID` of posthouse agents list")
	return cmd
}

// createKey makes a key, or says that an agent's names whose it is.
func createKey(ctx context.Context, c *client.Client, name string, scope posthouse.Scope, agent string) (client.NewKey, error) {
	switch {
	case scope == posthouse.ScopeAgent && agent != "":
		return c.Keys.CreateForAgent(ctx, name, agent)
	case scope == posthouse.ScopeAgent:
		return client.NewKey{}, usagef("--agent is missing: whose key it is; posthouse agents list names them")
	case agent != "":
		return client.NewKey{}, usagef("--agent goes with --scope agent")
	}
	return c.Keys.Create(ctx, name, scope)
}

func (p *program) keyRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a key", Args: takes("ID"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Keys.Revoke(ctx, args[0]); err != nil {
				return err
			}
			return p.done(args[0], "revoked")
		}),
	}
}

// keyNew calls no server: it makes a key for a server that is yet to start.
func (p *program) keyNew() *cobra.Command {
	return &cobra.Command{
		Use: "new", Short: "Draw a key for a server that is yet to start, as its POSTHOUSE_API_KEY", Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			key := secret.FormatKey(secret.NewKey())
			return p.show(map[string]string{"key": key}, func() { p.printf("%s\n", key) })
		},
	}
}

// showSecret prints a key alone, so that a shell can keep it in a variable, and what to do with it beside it.
func (p *program) showSecret(key string) {
	p.printf("%s\n", key)
	fmt.Fprintln(p.err, "  → shown this once: keep it")
}
