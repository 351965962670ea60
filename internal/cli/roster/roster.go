// Package roster has the commands of who is on duty. They call a server through package client.
package roster

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

// defaultRoster is the roster the duty rule asks where its channel names none.
const defaultRoster = "duty"

// weekdays are the names of the days 1 to 7.
var weekdays = []string{"", "Mon 周一", "Tue 周二", "Wed 周三", "Thu 周四", "Fri 周五", "Sat 周六", "Sun 周日"}

// Group has the commands in the order that the help shows them.
func Group(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("roster", "Who is on duty",
		rosterList(sh), rosterShow(sh), rosterImport(sh), rosterSet(sh), override(sh), holidays(sh), rosterCheck(sh), rosterToday(sh), rosterDelete(sh)))
}

// named is the first argument, or the default roster.
func named(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return defaultRoster
}

func rosterList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the rosters", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Rosters.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(all, func() {
				var rows [][]string
				for _, r := range all {
					rows = append(rows, []string{r.Name, fmt.Sprint(len(r.Days)), fmt.Sprint(len(r.Overrides)), r.HandOver, r.TimeZone, sh.At(r.UpdatedAt)})
				}
				sh.Table([]string{"Roster", "Days", "Overrides", "Hand-over", "Time zone", "Updated"}, rows)
			})
		}),
	}
}

func rosterShow(sh *shell.Shell) *cobra.Command {
	var csv, ics bool
	cmd := &cobra.Command{
		Use: "show [NAME]", Short: "Show a roster (default duty)", Args: shell.UpTo(1),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if sh.JSON && (csv || ics) {
				return shell.Usagef("--json stands beside --csv or --ics, which are forms of their own: give one of them")
			}
			if csv || ics {
				read := c.Rosters.Export
				if ics {
					read = c.Rosters.Calendar
				}
				text, err := read(ctx, named(args))
				if err == nil {
					_, err = sh.Out.Write(text)
				}
				return err
			}
			r, err := c.Rosters.Get(ctx, named(args))
			if err != nil {
				return err
			}
			return sh.Show(r, func() { printRoster(sh, r) })
		}),
	}
	cmd.Flags().BoolVar(&csv, "csv", false, "print the CSV that roster import reads")
	cmd.Flags().BoolVar(&ics, "ics", false, "print the iCalendar that calendars subscribe to and roster import reads")
	cmd.MarkFlagsMutuallyExclusive("csv", "ics")
	return cmd
}

func printRoster(sh *shell.Shell, r posthouse.Roster) {
	sh.Fields([][2]string{{"roster", r.Name}, {"hand-over", r.HandOver}, {"time zone", r.TimeZone}, {"updated", sh.At(r.UpdatedAt)}}...)
	sh.Printf("\n")
	var rows [][]string
	for day := 1; day <= 7; day++ {
		rows = append(rows, []string{sh.Label(weekdays[day]), onDuty(sh, r.Days[fmt.Sprint(day)])})
	}
	for _, date := range slices.Sorted(maps.Keys(r.Overrides)) {
		rows = append(rows, []string{date, onDuty(sh, r.Overrides[date])})
	}
	sh.Table([]string{"Day", "On duty"}, rows)
}

func onDuty(sh *shell.Shell, users []string) string {
	if len(users) == 0 {
		return sh.Text("nobody")
	}
	return shell.Words(users)
}

func rosterImport(sh *shell.Shell) *cobra.Command {
	var name string
	var how client.CalendarImport
	var as []string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Store a roster from CSV or a calendar; what it had before is gone", Args: shell.Takes("FILE"),
		Long: `Store a roster from CSV with the columns day and user: a day is 1 (Monday) to 7, or a date such as
2026-10-01 that overrides it. Or from an iCalendar (.ics), the roster's own or one of others: what repeats
each week without an end are its days, everything else dates. Users are the attendees of an event, and
where it has none its summary, by their id, name or address in the directory.
FILE may be - for standard input.`,
		Example: `  posthouse roster import duty.csv
  posthouse roster import duty.ics --name night --as 李娜=li.na --hand-over 08:30 --dry-run`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			text, err := sh.ReadFile(args[0])
			if err != nil {
				return err
			}
			if how.As, err = shell.Pairs("--as", as); err != nil {
				return err
			}
			r, err := importedRoster(ctx, c, name, text, how)
			if err != nil {
				return err
			}
			return sh.Show(r, func() {
				printRoster(sh, r)
				if how.DryRun {
					sh.Printf("\nnothing was stored: without --dry-run it is\n")
				}
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", defaultRoster, "the roster's `NAME`")
	flags.StringVar(&how.By, "by", "", "of a calendar: `WHERE` users stand, attendee or summary (default attendees, else the summary)")
	flags.StringArrayVar(&as, "as", nil, "of a calendar: `NAME=USER` of somebody whom the directory does not know so; may be repeated")
	flags.BoolVar(&how.KeepUnknown, "keep-unknown", false, "of a calendar: take as a user's id what is nobody of the directory")
	flags.StringVar(&how.HandOver, "hand-over", "", "of a calendar: the roster's hand-over `TIME` (default as it was)")
	flags.StringVar(&how.TimeZone, "time-zone", "", "of a calendar: the roster's IANA `ZONE` (default as it was)")
	flags.BoolVar(&how.DryRun, "dry-run", false, "of a calendar: show what would be stored, and store nothing")
	return cmd
}

// importedRoster stores a roster from a file, which says by its first line what it is.
func importedRoster(ctx context.Context, c *client.Client, name string, text []byte, how client.CalendarImport) (posthouse.Roster, error) {
	first := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(first) >= len(calendarBegins) && strings.EqualFold(string(first[:len(calendarBegins)]), calendarBegins) {
		return c.Rosters.ImportCalendar(ctx, name, text, how)
	}
	if len(how.As) > 0 || how.By+how.HandOver+how.TimeZone != "" || how.KeepUnknown || how.DryRun {
		return posthouse.Roster{}, shell.Usagef("the file is no calendar: --by, --as, --keep-unknown, --hand-over, --time-zone and --dry-run say how one is read")
	}
	return c.Rosters.Import(ctx, name, text)
}

// calendarBegins is how each calendar begins.
const calendarBegins = "BEGIN:VCALENDAR"

func rosterSet(sh *shell.Shell) *cobra.Command {
	var r posthouse.Roster
	var days, overrides []string
	cmd := &cobra.Command{
		Use: "set [NAME]", Short: "Store a roster (default duty); what it had before is gone", Args: shell.UpTo(1),
		Example: `  posthouse roster set --day 1=li.na,wang.fang --day 2=zhang.wei --override 2026-10-01=zhao.min`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			var err error
			r.Name = named(args)
			if r.Days, err = usersBy("--day", days); err != nil {
				return err
			}
			if r.Overrides, err = usersBy("--override", overrides); err != nil {
				return err
			}
			stored, err := c.Rosters.Put(ctx, r)
			if err != nil {
				return err
			}
			return sh.Show(stored, func() { printRoster(sh, stored) })
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&days, "day", nil, "`DAY=USERS`: 1 for Monday to 7, users with commas between; may be repeated")
	flags.StringArrayVar(&overrides, "override", nil, "`DATE=USERS` of one date instead; no users: nobody; may be repeated")
	flags.StringVar(&r.HandOver, "hand-over", "", "the local `TIME` at which a duty day begins (default 00:00)")
	flags.StringVar(&r.TimeZone, "time-zone", "", "the IANA `ZONE` (default the server's)")
	return cmd
}

func usersBy(flag string, args []string) (map[string][]string, error) {
	given, err := shell.Pairs(flag, args)
	out := map[string][]string{}
	for key, users := range given {
		out[key] = append([]string{}, shell.List(users)...)
	}
	return out, err
}

func rosterCheck(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "check [NAME]", Short: "Show the empty days and the overlaps of a roster (default duty)", Args: shell.UpTo(1),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			check, err := c.Rosters.Check(ctx, named(args))
			if err != nil {
				return err
			}
			return sh.Show(check, func() {
				var rows [][]string
				for _, day := range check.EmptyDays {
					rows = append(rows, []string{day, sh.Text("nobody is on duty: nobody is told")})
				}
				for _, user := range slices.Sorted(maps.Keys(check.Overlaps)) {
					rows = append(rows, []string{shell.Words(check.Overlaps[user]), sh.Text("%s is on duty on all of them", user)})
				}
				for _, day := range check.Past {
					rows = append(rows, []string{day, sh.Text("an override of a day that is over")})
				}
				sh.Table([]string{"Day", "Finding"}, rows)
			})
		}),
	}
}

func rosterToday(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "today [NAME]", Short: "Say who is on duty now (default roster duty)", Args: shell.UpTo(1),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			d, err := c.Rosters.OnDuty(ctx, named(args))
			if err != nil {
				return err
			}
			return sh.Show(d, func() {
				if !d.Configured {
					sh.Printf("%s, %s: the roster %s says nothing about the day\n", d.Date, sh.Label(weekdays[d.Weekday%8]), d.Roster)
					return
				}
				sh.Printf("%s, %s: %s\n", d.Date, sh.Label(weekdays[d.Weekday%8]), onDuty(sh, d.Users))
			})
		}),
	}
}

func rosterDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a roster", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			ways, _ := c.Routes.List(ctx) // where they cannot be listed, the roster is deleted all the same
			var using []string
			for i := range ways {
				if slices.ContainsFunc(ways[i].Steps, func(s posthouse.RouteStep) bool {
					return slices.ContainsFunc(s.To, func(r posthouse.Recipient) bool { return r.Roster == args[0] })
				}) {
					using = append(using, ways[i].Name)
				}
			}
			if err := c.Rosters.Delete(ctx, args[0]); err != nil {
				return err
			}
			if len(using) > 0 {
				sh.Notef("%s: %s\n", sh.Says("warning"), sh.Says("steps of these routes find nobody by it any more: "+strings.Join(using, ", ")))
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}
