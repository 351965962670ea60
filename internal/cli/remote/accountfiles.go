package remote

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

// accountKinds are the media types of the forms in which accounts are imported and exported.
var accountKinds = map[string]string{"csv": "text/csv", "ndjson": "application/x-ndjson", "json": "application/json", "limits": "application/json"}

func accountImport(sh *shell.Shell) *cobra.Command {
	var form string
	var dry bool
	cmd := &cobra.Command{
		Use: "import CHANNEL FILE", Short: "Store accounts from a file, all or none", Args: shell.Takes("CHANNEL", "FILE"),
		Long: `Store up to 10,000 accounts of a channel, all or none; those that are there already are replaced, and a
masked secret keeps the stored one. FILE may be - for standard input. Its form follows from its name, or --form says it:

  csv     the columns name, pools (with ; between), weight, base_rate, limits (such as 20/1s;1000/1m, or
          unlimited), and config.<field> for each of the driver's fields that is an account's
  ndjson  an account as a JSON object a line
  json    an object with a list accounts
  limits  JSON or YAML with an object accounts: by name, perSecond, perMinute, perHour and perDay, where 0 is
          unlimited. It sets the limits of accounts and keeps the rest of them.`,
		Example: `  posthouse channel accounts import wecom accounts.csv --dry-run
  posthouse channel accounts import wecom rates.yaml --form limits`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if form == "" {
				form = strings.TrimPrefix(args[1][max(strings.LastIndexByte(args[1], '.'), 0):], ".")
			}
			kind, known := accountKinds[form]
			if !known {
				return shell.Usagef("--form: is %q: want csv, ndjson, json or limits", form)
			}
			text, err := accountText(ctx, sh, c, args[0], args[1], form)
			if err != nil {
				return err
			}
			out, err := c.Accounts.Import(ctx, args[0], kind, text, dry)
			if err != nil {
				return err
			}
			return sh.Show(out, func() {
				if out.DryRun {
					sh.Printf("accounts that could be stored: %d, new: %d\n", out.Stored, out.Created)
					return
				}
				sh.Printf("accounts stored: %d, new: %d\n", out.Stored, out.Created)
			})
		}),
	}
	cmd.Flags().StringVar(&form, "form", "", "the `FORM` of the file: csv, ndjson, json or limits. Defaults to what its name ends with")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only look at the file and store nothing")
	return cmd
}

func accountText(ctx context.Context, sh *shell.Shell, c *client.Client, channel, file, form string) ([]byte, error) {
	if form != "limits" {
		return sh.ReadFile(file)
	}
	fields, err := sh.ReadFields(file)
	if err != nil {
		return nil, err
	}
	return limitedAccounts(ctx, c, channel, fields)
}

// limitWindows are the windows of a document of limits, shortest first.
var limitWindows = []struct {
	name string
	per  time.Duration
}{{"perSecond", time.Second}, {"perMinute", time.Minute}, {"perHour", time.Hour}, {"perDay", 24 * time.Hour}}

// limitedAccounts are the accounts that a document of limits names, as they are with these limits.
func limitedAccounts(ctx context.Context, c *client.Client, channel string, document map[string]any) ([]byte, error) {
	limits, err := readLimits(document)
	if err != nil {
		return nil, err
	}
	stored := map[string]posthouse.Account{}
	for a, err := range client.All(ctx, c.Accounts.List, client.Filter{Channel: channel, Limit: 1000}) {
		if err != nil {
			return nil, err
		}
		stored[a.Name] = a
	}
	type account struct {
		Name   string         `json:"name"`
		Config map[string]any `json:"config,omitempty"`
		posthouse.AccountSettings
	}
	var list []account
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		a, known := stored[name]
		if !known {
			return nil, shell.Usagef("accounts.%s: the channel %s has no account of this name", name, channel)
		}
		a.Limits = limits[name]
		list = append(list, account{name, a.Config, a.AccountSettings})
	}
	return json.Marshal(map[string]any{"accounts": list})
}

// readLimits reads the windows of each account.
func readLimits(document map[string]any) (map[string][]posthouse.Limit, error) {
	of, ok := document["accounts"].(map[string]any)
	if !ok || len(of) == 0 || len(document) != 1 {
		return nil, shell.Usagef("the file is not of the form limits: want an object accounts, and by name perSecond, perMinute, perHour and perDay")
	}
	limits := map[string][]posthouse.Limit{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		fields, ok := of[name].(map[string]any)
		if !ok {
			return nil, shell.Usagef("accounts.%s: want an object with perSecond, perMinute, perHour and perDay", name)
		}
		windows, err := readWindowsOf("accounts."+name, fields)
		if err != nil {
			return nil, err
		}
		limits[name] = windows
	}
	return limits, nil
}

func readWindowsOf(path string, fields map[string]any) ([]posthouse.Limit, error) {
	list := []posthouse.Limit{} // unlimited, where all are 0
	left := maps.Clone(fields)
	for _, w := range limitWindows {
		v, given := left[w.name]
		delete(left, w.name)
		n, err := wholeNumber(v)
		switch {
		case !given || err == nil && n == 0:
		case err != nil || n < 0:
			return nil, shell.Usagef("%s.%s is %v: want a whole number, 0 for unlimited", path, w.name, v)
		default:
			list = append(list, posthouse.Limit{Max: n, Per: posthouse.Duration(w.per)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		return nil, shell.Usagef("%s.%s is not known: want perSecond, perMinute, perHour or perDay", path, name)
	}
	return list, nil
}

// wholeNumber reads a number as JSON and YAML have it.
func wholeNumber(v any) (n int, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, err
}

func accountExport(sh *shell.Shell) *cobra.Command {
	var x shell.Export
	cmd := &cobra.Command{
		Use: "export CHANNEL", Short: "Write all accounts of a channel, secrets masked", Args: shell.Takes("CHANNEL"),
		Long: `Write all accounts of a channel by name, as import takes them. Secrets are masked: imported into the same
channel they stay as they are stored.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return x.Write(sh, func(to io.Writer, format string) error { return c.Accounts.Export(ctx, to, args[0], format) })
		}),
	}
	x.Describe(cmd.Flags(), "csv")
	return cmd
}
