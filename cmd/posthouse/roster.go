package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// defaultRoster is the roster the duty rule asks where its channel names none.
const defaultRoster = "duty"

// weekdays are the names of the days 1 to 7.
var weekdays = []string{"", "Mon 周一", "Tue 周二", "Wed 周三", "Thu 周四", "Fri 周五", "Sat 周六", "Sun 周日"}

func (p *program) roster() *cobra.Command {
	return calling(group("roster", "Who is on duty",
		p.rosterList(), p.rosterShow(), p.rosterImport(), p.rosterSet(), p.rosterCheck(), p.rosterToday(), p.rosterDelete()))
}

// named is the first argument, or the default roster.
func named(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return defaultRoster
}

func (p *program) rosterList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the rosters", Args: takes(),
		RunE: p.over(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Rosters.List(ctx)
			if err != nil {
				return err
			}
			return p.show(all, func() {
				var rows [][]string
				for _, r := range all {
					rows = append(rows, []string{r.Name, fmt.Sprint(len(r.Days)), fmt.Sprint(len(r.Overrides)), r.HandOver, r.TimeZone, at(r.UpdatedAt)})
				}
				p.printTable([]string{"Roster", "Days", "Overrides", "Hand-over", "Time zone", "Updated"}, rows)
			})
		}),
	}
}

func (p *program) rosterShow() *cobra.Command {
	var csv bool
	cmd := &cobra.Command{
		Use: "show [NAME]", Short: "Show a roster (default duty)", Args: cobra.MaximumNArgs(1),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			if csv {
				text, err := c.Rosters.Export(ctx, named(args))
				if err == nil {
					_, err = p.out.Write(text)
				}
				return err
			}
			r, err := c.Rosters.Get(ctx, named(args))
			if err != nil {
				return err
			}
			return p.show(r, func() { p.printRoster(r) })
		}),
	}
	cmd.Flags().BoolVar(&csv, "csv", false, "print the CSV that roster import reads")
	return cmd
}

func (p *program) printRoster(r posthouse.Roster) {
	p.printFields([][2]string{{"roster", r.Name}, {"hand-over", r.HandOver}, {"time zone", r.TimeZone}, {"updated", at(r.UpdatedAt)}}...)
	p.printf("\n")
	var rows [][]string
	for day := 1; day <= 7; day++ {
		rows = append(rows, []string{weekdays[day], onDuty(r.Days[fmt.Sprint(day)])})
	}
	for _, date := range slices.Sorted(maps.Keys(r.Overrides)) {
		rows = append(rows, []string{date, onDuty(r.Overrides[date])})
	}
	p.printTable([]string{"Day", "On duty"}, rows)
}

func onDuty(users []string) string {
	if len(users) == 0 {
		return "nobody"
	}
	return words(users)
}

func (p *program) rosterImport() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Store a roster from CSV; what it had before is gone", Args: takes("FILE"),
		Long: `Store a roster from CSV with the columns day and user: a day is 1 (Monday) to 7, or a date such as
2026-10-01 that overrides it. FILE may be - for standard input.`,
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			text, err := p.readFile(args[0])
			if err != nil {
				return err
			}
			r, err := c.Rosters.Import(ctx, name, text)
			if err != nil {
				return err
			}
			return p.show(r, func() { p.printRoster(r) })
		}),
	}
	cmd.Flags().StringVar(&name, "name", defaultRoster, "the roster's `NAME`")
	return cmd
}

func (p *program) rosterSet() *cobra.Command {
	var r posthouse.Roster
	var days, overrides []string
	cmd := &cobra.Command{
		Use: "set [NAME]", Short: "Store a roster (default duty); what it had before is gone", Args: cobra.MaximumNArgs(1),
		Example: `  posthouse roster set --day 1=li.na,wang.fang --day 2=zhang.wei --override 2026-10-01=zhao.min`,
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
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
			return p.show(stored, func() { p.printRoster(stored) })
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
	given, err := pairs(flag, args)
	out := map[string][]string{}
	for key, users := range given {
		out[key] = append([]string{}, list(users)...)
	}
	return out, err
}

func (p *program) rosterCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check [NAME]", Short: "Show the empty days and the overlaps of a roster (default duty)", Args: cobra.MaximumNArgs(1),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			check, err := c.Rosters.Check(ctx, named(args))
			if err != nil {
				return err
			}
			return p.show(check, func() {
				var rows [][]string
				for _, day := range check.EmptyDays {
					rows = append(rows, []string{day, "nobody is on duty: nobody is told"})
				}
				for _, user := range slices.Sorted(maps.Keys(check.Overlaps)) {
					rows = append(rows, []string{words(check.Overlaps[user]), user + " is on duty on all of them"})
				}
				for _, day := range check.Past {
					rows = append(rows, []string{day, "an override of a day that is over"})
				}
				p.printTable([]string{"Day", "Finding"}, rows)
			})
		}),
	}
}

func (p *program) rosterToday() *cobra.Command {
	return &cobra.Command{
		Use: "today [NAME]", Short: "Say who is on duty now (default roster duty)", Args: cobra.MaximumNArgs(1),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			d, err := c.Rosters.OnDuty(ctx, named(args))
			if err != nil {
				return err
			}
			return p.show(d, func() {
				if !d.Configured {
					p.printf("%s, %s: the roster %s says nothing about the day\n", d.Date, weekdays[d.Weekday%8], d.Roster)
					return
				}
				p.printf("%s, %s: %s\n", d.Date, weekdays[d.Weekday%8], onDuty(d.Users))
			})
		}),
	}
}

func (p *program) rosterDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a roster", Args: takes("NAME"),
		RunE: p.over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Rosters.Delete(ctx, args[0]); err != nil {
				return err
			}
			return p.done(args[0], "deleted")
		}),
	}
}
