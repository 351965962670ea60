package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/web"
)

// channelFlag is one setting of a channel as a flag. Its text is the value of the JSON field.
type channelFlag struct {
	name, help string
	// read makes the JSON value of the flag's text; nil takes it as a string.
	read func(string) (any, error)
}

// channelFlags are the settings that fit a flag; rules and what is longer goes in a file.
var channelFlags = []channelFlag{
	{"title", "what people call it, a `TEXT` that pages show beside its name", nil},
	{"profile", "a set of defaults, a `NAME`: default, duty, flow or wecom", nil},
	{"every", "send in runs, one each `DURATION`; 0s sends at once", duration},
	{"job", "the `NAME` of the runs in logs and metrics", nil},
	{"tries", "how many failures end a delivery, a `NUMBER`", number},
	{"backoff", "the waits after the first, second, … failure, `DURATIONS` with commas between", durations},
	{"jitter", "the share each wait is spread by, a `NUMBER` from 0 to 1", fraction},
	{"on-unknown", "the `POLICY` where nobody knows whether it arrived: retry, hold, query or assume_sent", nil},
	{"hold-timeout", "the `DURATION` after which a held unknown counts as failed", duration},
	{"limits", "windows that hold together, a `LIST` such as 20/1s,1000/1m, or unlimited; empty for the driver's", windows},
	{"limit-by", "what the limits count, a `WORD`: recipients or calls", nil},
	{"account-limits", "windows of each account that names none of its own, a `LIST` such as 18/1m, or unlimited", windows},
	{"recipient-limits", "windows of each recipient, a `LIST` such as 25/1m,900/1h, or unlimited", windows},
	{"budget", "how much it may send in a day or a month of the calendar, a `TEXT` such as 20000/month@Asia/Shanghai; empty for none", budget},
	{"account-budget", "the budget of each account that names none of its own, a `TEXT` such as 500/day/when_spent=high_priority", budget},
	{"rate", "lets each account find how fast it may go, a `JSON` object such as {} or {\"base\": 20}; null ends that", object},
	{"max-inflight", "how many attempts may be under way in one process, by each account, a `NUMBER`", number},
	{"channel-max-inflight", "how many by all accounts together, a `NUMBER`", number},
	{"batch", "how many recipients go in one call, a `NUMBER`", number},
	{"timeout", "the bound on one call, a `DURATION`", duration},
	{"expire-end-of-day", "true gives messages without a deadline the end of their day, a `BOOL`", truth},
	{"time-zone", "the IANA `ZONE` of its days", nil},
	{"dedup-window", "the `DURATION` a dedup key holds", duration},
	{"pull", "true has agents fetch what is to be sent, a `BOOL`: the driver sends nothing then", truth},
	{"needs", "the capabilities an agent must have, a `LIST` such as operator=cmcc,sim=2", needs},
	{"accounts", "true has the channel send by accounts of its own, a `BOOL`: posthouse channel accounts sets them up", truth},
	{"sticky", "what stays on one account, a `WORD`: conversation", nil},
	{"failover", "true moves what is pinned to an account that is paused or refused, a `BOOL`", truth},
	{"egress", `what it may call beside the config's URLs, a ` + "`JSON`" + ` object such as {"hosts": ["files.example.com"]}`, object},
	{"quiet-hours", `when nothing starts, a ` + "`JSON`" + ` list such as [{"from": "22:00", "to": "08:00", "spread": "30m"}]; [] for never`, list},
	{"caps", `how many messages a person may get, a ` + "`JSON`" + ` list such as [{"max": 3, "per": "24h", "then": "suppress"}]; [] for any`, list},
	{"exempt-kinds", "kinds of messages that go to suppressed addresses too, `NAMES` with commas between", words},
	{"test-to", "addresses to which an operator may send a test, a `LIST` with commas between", words},
	{"keep-answers", "true keeps the beginning of each answer with the attempt, a `BOOL`", truth},
	{"promise", `how long what is due waits at most, a ` + "`JSON`" + ` object such as {"high": "30s"}: what waits for longer is shown as late`, object},
	{"fair-after", "the `DURATION` that a due retry lets new ones be fetched before it", duration},
}

// words reads names with commas between.
func words(text string) (any, error) {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), nil
}

// setChannel creates or changes a channel.
type setChannel struct {
	*shell.Shell
	driver, config, codes, file string
	preset                      string
	secrets, fields             []string
}

func channelSet(sh *shell.Shell) *cobra.Command {
	s := &setChannel{Shell: sh}
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Create a channel, or change what the flags name",
		Long: `Create a channel, or change what the flags name and keep the rest. With -f the file is the whole
channel: YAML or JSON, as channel show prints it; a masked secret keeps the stored one.`,
		Example: `  posthouse channel set oa --driver httpapi --config @oa.json --every 1m --tries 3
  posthouse channel set alerts --preset telegram --secret token=@token.txt
  posthouse channel set oa --limits 20/1s,1000/1m
  posthouse channel set -f oa.yaml`,
		Args: shell.UpTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := sh.Dial(cmd)
			if err != nil {
				return err
			}
			if s.file != "" {
				return s.fromFile(cmd, c, args)
			}
			ch, err := s.fromFlags(cmd, c, args)
			if err != nil {
				return err
			}
			ctx := client.IfNew(cmd.Context())
			if !ch.CreatedAt.IsZero() {
				ctx = client.IfMatch(cmd.Context(), ch.Tag()) // what it keeps is what was read
			}
			stored, created, err := c.Channels.Put(ctx, ch)
			return showStored(s.Shell, stored, created, err)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.driver, "driver", "", "the `NAME` of its driver: posthouse channel drivers lists them")
	flags.StringVar(&s.config, "config", "", "the driver's fields: a `JSON` object, @FILE, or -")
	flags.StringVar(&s.codes, "codes", "", "the classes of some of the provider's codes, a `LIST` such as 500=transient,E02=recipient; E02= forgets one. They stand in the config, as channel show prints it")
	flags.StringVarP(&s.file, "file", "f", "", "a `FILE` with the whole channel, or -")
	flags.StringVar(&s.preset, "preset", "", "make it of what is known of a provider, by `NAME`: posthouse preset list. Fields that are not given stay as they were; --secret and --field without it change nothing else")
	flags.StringArrayVar(&s.secrets, "secret", nil, "a secret field of the preset or the driver, `NAME=VALUE`; NAME=@FILE reads it from a file, NAME=- from standard input. May be repeated")
	flags.StringArrayVar(&s.fields, "field", nil, "another field of the preset, `NAME=VALUE`. May be repeated")
	for _, f := range channelFlags {
		flags.String(f.name, "", f.help)
	}
	return cmd
}

// showStored says what became of a channel.
func showStored(sh *shell.Shell, ch posthouse.Channel, created bool, err error) error {
	if err != nil {
		return err
	}
	what := "changed"
	if created {
		what = "created"
	}
	return sh.Show(ch, func() {
		sh.Printf("%s: %s\n", ch.Name, sh.Label(what))
		for _, w := range ch.Warnings {
			sh.Notef("%s: %s\n", sh.Says("warning"), sh.Says(w))
		}
	})
}

// shownOnly are the fields that channel show prints and nobody can set.
var shownOnly = []string{"tenant", "name", "version", "created_at", "updated_at", "paused", "pause_reason", "paused_until", "state", "state_reason", "state_until", "warnings"}

// fromFile hands the file's fields to the server, which names all that is wrong with them.
func (s *setChannel) fromFile(cmd *cobra.Command, c *client.Client, args []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if isChannelFlag(f.Name) && err == nil {
			err = shell.Usagef("--%s does not go with --file, which is the whole channel", f.Name)
		}
	})
	if err != nil {
		return err
	}
	fields, err := s.ReadFields(s.file)
	if err != nil {
		return err
	}
	name, _ := fields["name"].(string)
	switch {
	case len(args) == 0 && name == "":
		return shell.Usagef("--file %s: name is missing: it is a field of the file, or the argument", s.file)
	case len(args) == 1 && name != "" && name != args[0]:
		return shell.Usagef("--file %s: its name is %q, and the argument says %q", s.file, name, args[0])
	case len(args) == 1:
		name = args[0]
	}
	for _, field := range shownOnly {
		delete(fields, field)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	stored, created, err := c.Channels.PutJSON(cmd.Context(), name, body)
	return showStored(s.Shell, stored, created, err)
}

func isChannelFlag(name string) bool {
	for _, f := range channelFlags {
		if f.name == name {
			return true
		}
	}
	return name == "driver" || name == "config" || name == "codes" || name == "preset" || name == "secret" || name == "field"
}

// fromFlags is the stored channel, if there is one, with what the flags say.
func (s *setChannel) fromFlags(cmd *cobra.Command, c *client.Client, args []string) (posthouse.Channel, error) {
	if len(args) == 0 {
		return posthouse.Channel{}, shell.Usagef("%s is missing: %s", "NAME", cmd.UseLine())
	}
	config, err := s.Object("--config", s.config)
	if err != nil {
		return posthouse.Channel{}, err
	}
	changed, err := changedFields(cmd.Flags(), channelFlags)
	if err != nil {
		return posthouse.Channel{}, err
	}
	ch, err := c.Channels.Get(cmd.Context(), args[0])
	var missing *posthouse.Error
	if errors.As(err, &missing) && missing.Code == posthouse.CodeNotFound {
		ch, err = posthouse.Channel{}, nil
		if s.driver == "" && s.preset == "" {
			return ch, shell.Usagef("there is no channel %s yet: --driver or --preset says what it is", args[0])
		}
	}
	if err != nil {
		return ch, err
	}
	ch.Name = args[0]
	if s.driver != "" {
		ch.Driver = s.driver
	}
	if config != nil {
		ch.Config = nil
		if err := json.Unmarshal(config, &ch.Config); err != nil {
			return ch, err
		}
	}
	if ch, err = s.madeOf(ch); err != nil {
		return ch, err
	}
	if cmd.Flags().Changed("codes") {
		if ch.Config, err = recoded(ch.Config, s.codes); err != nil {
			return ch, err
		}
	}
	if cmd.Flags().Changed("profile") {
		ch.ChannelSettings = state.WithoutPreset(ch.ChannelSettings) // what the profile of before filled in is no choice of anybody's
	}
	if cmd.Flags().Changed("rate") {
		ch.Rate = nil // it replaces what there was
	}
	if cmd.Flags().Changed("quiet-hours") {
		ch.QuietHours = nil
	}
	if cmd.Flags().Changed("caps") {
		ch.Caps = nil
	}
	if cmd.Flags().Changed("needs") {
		ch.Needs = nil
	}
	if err := setFields(changed, &ch.ChannelSettings); err != nil {
		return ch, err
	}
	return ch, emptied(ch.QuietHours, ch.Caps)
}

// madeOf is a channel with the fields of its preset in the place of a driver and its config, where flags name any.
func (s *setChannel) madeOf(ch posthouse.Channel) (posthouse.Channel, error) {
	if s.preset == "" && len(s.secrets)+len(s.fields) == 0 {
		return ch, nil
	}
	switch {
	case s.preset == "" && len(s.fields) == 0 && (s.driver != "" || ch.Preset == ""):
		if ch.Config == nil {
			ch.Config = map[string]any{}
		}
		return ch, s.fill(ch.Config)
	case s.driver != "" || s.config != "" || s.codes != "":
		return ch, shell.Usagef("--preset and --field stand for --driver, --config and --codes: give either")
	case s.preset == "" && ch.Preset == "":
		return ch, shell.Usagef("--field is of a preset: --preset says which; a driver's fields go in --config")
	case s.preset != "":
		ch.Preset, ch.PresetVersion = s.preset, 0 // what it is now
	}
	ch.Driver, ch.Config = "", map[string]any{}
	return ch, s.fill(ch.Config)
}

// fill sets what --secret and --field say.
func (s *setChannel) fill(config map[string]any) error {
	for _, list := range [][]string{s.secrets, s.fields} {
		for _, one := range list {
			name, text, ok := strings.Cut(one, "=")
			if !ok || name == "" {
				return shell.Usagef("--secret and --field want NAME=VALUE")
			}
			if text == "-" || strings.HasPrefix(text, "@") {
				b, err := s.Input(text)
				if err != nil {
					return err
				}
				text = strings.TrimRight(string(b), "\r\n")
			}
			config[name] = text
		}
	}
	return nil
}

// setFields sets what a JSON object says of settings, and refuses a name that they do not know and a value of another type: all of them at once, each by
// its path, as the server would.
func setFields[T any](changed []byte, settings *T) error {
	_, wrong, err := web.BodyOf[T]().Read(changed)
	if err == nil && len(wrong) > 0 {
		return shell.Usagef("%w", posthouse.Invalid("the settings cannot be read", wrong))
	}
	d := json.NewDecoder(bytes.NewReader(changed))
	d.DisallowUnknownFields()
	if err := d.Decode(settings); err != nil {
		return shell.Usagef("the settings cannot be read: %w", err)
	}
	return nil
}

// emptied refuses lists that are written and empty in quiet hours and caps: they would be left out on the way, and hold for all.
func emptied(hours []posthouse.QuietHours, caps []posthouse.Cap) error {
	wrong := append(quiet.Check("quiet_hours", hours, nil), quiet.CheckCaps("caps", caps)...)
	wrong = slices.DeleteFunc(wrong, func(p posthouse.Problem) bool { return !strings.HasPrefix(p.Message, quiet.Emptied) })
	if len(wrong) > 0 {
		return shell.Usagef("%w", posthouse.Invalid("the settings cannot be read", wrong))
	}
	return nil
}

// changedFields is a JSON object of the settings given as flags.
func changedFields(flags *pflag.FlagSet, known []channelFlag) ([]byte, error) {
	out := map[string]any{}
	for _, f := range known {
		if !flags.Changed(f.name) {
			continue
		}
		text, _ := flags.GetString(f.name)
		var value any = text
		if f.read != nil {
			var err error
			if value, err = f.read(text); err != nil {
				return nil, shell.Usagef("--%s: %w", f.name, err)
			}
		}
		out[strings.ReplaceAll(f.name, "-", "_")] = value
	}
	return json.Marshal(out)
}

func number(s string) (any, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil, errors.New(strconv.Quote(s) + " is not a whole number")
	}
	return n, nil
}

func fraction(s string) (any, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, errors.New(strconv.Quote(s) + " is not a number such as 0.2")
	}
	return n, nil
}

func truth(s string) (any, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return nil, errors.New(strconv.Quote(s) + " is not true or false")
	}
	return b, nil
}

func object(s string) (any, error) {
	var out map[string]any
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		return nil, errors.New(strconv.Quote(s) + " is not a JSON object")
	}
	return out, nil
}

// list reads a JSON list of objects.
func list(s string) (any, error) {
	out := []map[string]any{}
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		return nil, errors.New(strconv.Quote(s) + " is not a JSON list of objects")
	}
	return out, nil
}

func duration(s string) (any, error) {
	var d posthouse.Duration
	err := d.UnmarshalText([]byte(s))
	return d, err
}

// durations are written with commas between.
func durations(s string) (any, error) {
	out := []posthouse.Duration{}
	for _, part := range shell.List(s) {
		var d posthouse.Duration
		if err := d.UnmarshalText([]byte(part)); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// needs are pairs with commas between; none are an empty object.
func needs(s string) (any, error) {
	out := map[string]string{}
	for _, part := range shell.List(s) {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil, errors.New(strconv.Quote(part) + " is not of the form NAME=VALUE")
		}
		out[name] = value
	}
	return out, nil
}

// budget reads a budget such as 20000/month.
func budget(s string) (any, error) {
	b, err := limittext.Budget(s)
	if b == nil { // not a nil that is a pointer
		return nil, err
	}
	return b, err
}

// windows reads limits such as 20/1s.
func windows(s string) (any, error) { return limittext.Read(s) }
