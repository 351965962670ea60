package remote

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func tenantGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("tenant", "The tenants, and what they may ask for", tenantList(sh), tenantShow(sh), tenantAdd(sh), tenantSet(sh), tenantDelete(sh)))
}

func tenantList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenants", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Tenants.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for _, t := range all {
					rows = append(rows, []string{t.Name, quotaText(sh, t.Quota), sh.At(t.CreatedAt), t.Note})
				}
				sh.Table([]string{"Tenant", "Quota", "Made", "Note"}, rows)
			})
		}),
	}
}

// quotaText is a quota in words, empty for none.
func quotaText(sh *shell.Shell, q posthouse.Quota) string {
	var parts []string
	if len(q.Requests) > 0 {
		parts = append(parts, sh.Text("requests %s", windowsText(q.Requests)))
	}
	if q.Open > 0 {
		parts = append(parts, sh.Text("open %d", q.Open))
	}
	if q.MentionAll > 0 {
		parts = append(parts, "mention_all "+strconv.Itoa(q.MentionAll))
	}
	return strings.Join(parts, "; ")
}

func tenantShow(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "show TENANT", Short: "Show a tenant, its quota and what it has", Args: shell.Takes("TENANT"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			t, err := c.Tenants.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(t, func() { printTenant(sh, t.Tenant, t.Holds.Parts()...) })
		}),
	}
}

func printTenant(sh *shell.Shell, t posthouse.Tenant, holds ...wire.Part) {
	fields := [][2]string{{"tenant", t.Name}, {"note", t.Note}, {"quota", cmp.Or(quotaText(sh, t.Quota), sh.Text("none"))}, {"language", t.Language}}
	for _, q := range t.QuietHours {
		fields = append(fields, [2]string{"quiet hours", quietText(sh, q)})
	}
	for _, c := range t.Caps {
		fields = append(fields, [2]string{"cap", capText(sh, c)})
	}
	for _, kinds := range []struct {
		name string
		list []string
	}{{"mandatory kinds", t.MandatoryKinds}, {"optional kinds", t.OptionalKinds}} {
		if len(kinds.list) > 0 {
			fields = append(fields, [2]string{kinds.name, shell.Words(kinds.list)})
		}
	}
	fields = append(fields, [2]string{"made", sh.At(t.CreatedAt)})
	for _, p := range holds {
		fields = append(fields, [2]string{p.Name, strconv.Itoa(p.N)})
	}
	sh.Fields(fields...)
}

// quietText is quiet hours in words.
func quietText(sh *shell.Shell, q posthouse.QuietHours) string {
	text := sh.Text("%s to %s", q.From, q.To)
	for _, part := range []struct{ said, of string }{
		{sh.Text(" on %s", strings.ReplaceAll(string(q.Days), "_", " ")), string(q.Days)}, {sh.Text(" by %s", q.Calendar), q.Calendar}, {sh.Text(" for kinds %s", strings.Join(q.Kinds, ",")), strings.Join(q.Kinds, ",")},
		{sh.Text(" except kinds %s", strings.Join(q.ExceptKinds, ",")), strings.Join(q.ExceptKinds, ",")}, {sh.Text(" for %s", strings.Join(q.Users, ",")), strings.Join(q.Users, ",")}, {sh.Text(" in %s", q.TimeZone), q.TimeZone},
	} {
		if part.of != "" {
			text += part.said
		}
	}
	if q.Spread > 0 {
		text += sh.Text(", spread over %s", q.Spread)
	}
	return text
}

// capText is a cap in words.
func capText(sh *shell.Shell, c posthouse.Cap) string {
	text := strconv.Itoa(c.Max) + "/" + c.Per.String()
	if len(c.Kinds) > 0 {
		text += sh.Text(" of %s", strings.Join(c.Kinds, ","))
	}
	return text + sh.Text(", then %s", cmp.Or(c.Then, posthouse.CapDefer))
}

// quotaFlags are what people decide about a quota.
type quotaFlags struct {
	requests string
	open     int
	everyone int
}

func (f *quotaFlags) describe(flags *pflag.FlagSet) {
	flags.StringVar(&f.requests, "requests", "", "how many requests it may make, a `LIST` of windows such as 20/1s,600/1m, or none")
	flags.IntVar(&f.open, "open", 0, "how many deliveries may be open, a `NUMBER`; 0 is no bound")
	flags.IntVar(&f.everyone, "mention-all", 0, "how many messages a day may call everybody in a group, a `NUMBER`; 0 is no bound")
}

// apply changes of a quota what the flags name.
func (f *quotaFlags) apply(flags *pflag.FlagSet, q *posthouse.Quota) (err error) {
	if flags.Changed("requests") {
		q.Requests, err = agentLimits("--requests", f.requests)
	}
	if flags.Changed("open") {
		q.Open = f.open
	}
	if flags.Changed("mention-all") {
		q.MentionAll = f.everyone
	}
	return err
}

// tenantFlags are what people decide about a tenant.
type tenantFlags struct {
	note     string
	quota    quotaFlags
	quiet    string
	language string
	caps     string
	// mandatory and optional are kinds that users may not switch off, and may.
	mandatory, optional []string
}

func (f *tenantFlags) describe(flags *pflag.FlagSet) {
	flags.StringVar(&f.note, "note", "", "a `NOTE` for people")
	flags.StringVar(&f.language, "language", "", "what its people read who have no language of their own, a `LANGUAGE` such as zh or en")
	f.quota.describe(flags)
	flags.StringVar(&f.quiet, "quiet-hours", "", `when nothing starts on any channel, a `+"`JSON`"+` list such as [{"from": "22:00", "to": "08:00", "spread": "30m"}]; [] for never`)
	flags.StringVar(&f.caps, "caps", "", `how many messages a person may get by all channels together, a `+"`JSON`"+` list such as [{"max": 3, "per": "24h", "kinds": ["news"], "then": "suppress"}]; [] for any`)
	flags.StringSliceVar(&f.mandatory, "mandatory-kinds", nil, "`KINDS` of messages that no user may switch off, with commas between; empty for none")
	flags.StringSliceVar(&f.optional, "optional-kinds", nil, "`KINDS` of messages that the users' page of preferences offers to switch off; empty for none")
}

// put stores a tenant with what the flags change of it.
func (f *tenantFlags) put(ctx context.Context, sh *shell.Shell, c *client.Client, flags *pflag.FlagSet, t posthouse.Tenant) error {
	if flags.Changed("note") {
		t.Note = f.note
	}
	if flags.Changed("language") {
		t.Language = f.language
	}
	if flags.Changed("mandatory-kinds") {
		t.MandatoryKinds = f.mandatory
	}
	if flags.Changed("optional-kinds") {
		t.OptionalKinds = f.optional
	}
	if err := f.quota.apply(flags, &t.Quota); err != nil {
		return err
	}
	if err := f.attend(flags, &t); err != nil {
		return err
	}
	stored, err := c.Tenants.Put(ctx, t.Name, wire.PutTenantOf(t))
	if err != nil {
		return err
	}
	return sh.Show(stored, func() { printTenant(sh, stored) })
}

// attend changes of a tenant's quiet hours and caps what the flags name.
func (f *tenantFlags) attend(flags *pflag.FlagSet, t *posthouse.Tenant) error {
	changed, err := changedFields(flags, []channelFlag{{"quiet-hours", "", list}, {"caps", "", list}})
	if err != nil {
		return err
	}
	said := wire.PutTenant{QuietHours: t.QuietHours, Caps: t.Caps}
	if flags.Changed("quiet-hours") {
		said.QuietHours = nil
	}
	if flags.Changed("caps") {
		said.Caps = nil
	}
	err = setFields(changed, &said)
	if err == nil {
		err = emptied(said.QuietHours, said.Caps)
	}
	t.QuietHours, t.Caps = said.QuietHours, said.Caps
	return err
}

func tenantAdd(sh *shell.Shell) *cobra.Command {
	var f tenantFlags
	cmd := &cobra.Command{
		Use: "add TENANT", Short: "Make a tenant; posthouse key add --tenant makes its first key", Args: shell.Takes("TENANT"),
		Example: `  posthouse tenant add branch-7 --note "the branch in Pudong" --requests 20/1s,600/1m --open 50000
  posthouse key add first --tenant branch-7 --scope admin`,
	}
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		known, err := c.Tenants.Get(ctx, args[0])
		switch {
		case err == nil && !known.CreatedAt.IsZero():
			return posthouse.Errorf(posthouse.CodeConflict, "there is a tenant %q: posthouse tenant set changes it", args[0])
		case err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound:
			return err
		}
		return f.put(ctx, sh, c, cmd.Flags(), posthouse.Tenant{Name: args[0]})
	})
	f.describe(cmd.Flags())
	return cmd
}

func tenantSet(sh *shell.Shell) *cobra.Command {
	var f tenantFlags
	cmd := &cobra.Command{
		Use: "set TENANT", Short: "Change a tenant's note, quota, language, quiet hours, caps and kinds; what no flag names stays", Args: shell.Takes("TENANT"),
		Example: `  posthouse tenant set branch-7 --open 100000
  posthouse tenant set branch-7 --requests none --open 0
  posthouse tenant set branch-7 --quiet-hours '[{"from": "22:00", "to": "08:00"}]'
  posthouse tenant set branch-7 --caps '[{"max": 3, "per": "24h"}]'`,
	}
	cmd.RunE = sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
		t, err := c.Tenants.Get(ctx, args[0])
		if err != nil {
			return err
		}
		return f.put(client.IfMatch(ctx, t.Tag()), sh, c, cmd.Flags(), t.Tenant)
	})
	f.describe(cmd.Flags())
	return cmd
}

func tenantDelete(sh *shell.Shell) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "delete TENANT", Short: "Delete a tenant that has nothing", Args: shell.Takes("TENANT"),
		Long: `Delete a tenant. While it has anything, the command says what, and nothing is deleted.

With --force, what is set up with it is deleted too: its keys, channels, agents, templates, texts,
rosters, users, reminders and tasks. Open deliveries and rows of the outbox are never deleted: cancel
them first. What is settled, and the audit log, stay until their time is over.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Tenants.Delete(ctx, args[0], force); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "delete what is set up with it too")
	return cmd
}
