package console

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// channelForm is the form of a channel, drawn from the fields of its driver.
type channelForm struct {
	Driver   wire.Driver
	Name     string
	New      bool
	Version  string // the tag of the channel that the form shows: it is stored over no other
	Moved    bool   // somebody else has changed the channel since the form was drawn
	Fields   []field
	Settings []field
	Problems []posthouse.Problem // that belong to no field
}

// field is one of a form.
type field struct {
	wire.Field
	Name     string // in the form, which is the path of its problems
	Value    string
	Checked  bool
	Stored   bool   // a secret is there, which nobody is shown
	Theirs   string // what is stored, where Differs
	Differs  bool   // somebody else has stored something, and the form says something else
	Problems []string
}

func showDrivers(v *visit) error {
	list, err := v.call().Channels.Drivers(v.ctx())
	if err != nil {
		return err
	}
	return v.show("drivers", "new_channel", list)
}

// driver is the one of a name.
func (v *visit) driver(name string) (wire.Driver, error) {
	list, err := v.call().Channels.Drivers(v.ctx())
	if err != nil {
		return wire.Driver{}, err
	}
	i := slices.IndexFunc(list, func(d wire.Driver) bool { return d.Name == name })
	if i < 0 {
		return wire.Driver{}, nowhere(v)
	}
	return list[i], nil
}

func showNewChannel(v *visit) error {
	d, err := v.driver(v.r.PathValue("driver"))
	if err != nil {
		return err
	}
	return v.show("channel-form", "new_channel", formOf(d, posthouse.Channel{}))
}

func showEditChannel(v *visit) error {
	ch, err := v.call().Channels.Get(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	d, err := v.driver(ch.Driver)
	if err != nil {
		return err
	}
	return v.show("channel-form", "edit_channel", formOf(d, ch))
}

func makeChannel(v *visit) error {
	d, err := v.driver(v.r.PathValue("driver"))
	if err != nil {
		return err
	}
	ch := posthouse.Channel{Name: v.form("name"), Driver: d.Name}
	wrong := "name_missing"
	if ch.Name != "" {
		_, err = v.call().Channels.Get(v.ctx(), ch.Name)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			return v.putChannel(d, ch, "new_channel")
		}
		if err != nil {
			return err
		}
		wrong = "name_taken" // storing would replace it
	}
	f := v.filled(d, ch)
	f.New, f.Problems = true, []posthouse.Problem{{Path: "name", Message: say(wrong, v.zh)}}
	return v.draw(http.StatusUnprocessableEntity, "channel-form", "new_channel", f)
}

func editChannel(v *visit) error {
	ch, err := v.call().Channels.Get(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	d, err := v.driver(ch.Driver)
	if err != nil {
		return err
	}
	if v.form("version") != ch.Tag() {
		return v.bothChannels(d, ch)
	}
	return v.putChannel(d, ch, "edit_channel")
}

// bothChannels shows the form as it was sent, and beside each field what somebody else has stored meanwhile.
func (v *visit) bothChannels(d wire.Driver, ch posthouse.Channel) error {
	f, stored := v.filled(d, ch), formOf(d, ch)
	f.Moved = true
	for i, list := range [][]field{stored.Fields, stored.Settings} {
		mine := [][]field{f.Fields, f.Settings}[i]
		for j, theirs := range list {
			value := theirs.Value
			if channel.Kind(theirs.Kind) == channel.KindBool {
				value = say(map[bool]string{true: "yes", false: "no"}[theirs.Checked], v.zh)
			}
			if strings.ReplaceAll(mine[j].Value, "\r\n", "\n") != theirs.Value || channel.Kind(theirs.Kind) == channel.KindBool && mine[j].Checked != theirs.Checked {
				mine[j].Theirs, mine[j].Differs = value, true
			}
		}
	}
	return v.draw(http.StatusConflict, "channel-form", "edit_channel", f)
}

// putChannel stores what the form says, or shows it again with what is wrong.
func (v *visit) putChannel(d wire.Driver, ch posthouse.Channel, title string) error {
	f := v.filled(d, ch)
	f.New = title == "new_channel"
	in, problems := v.channelFrom(d, ch)
	if problems == nil {
		ctx := client.IfMatch(v.ctx(), ch.Tag())
		if f.New {
			ctx = client.IfNew(v.ctx())
		}
		_, _, err := v.call().Channels.Put(withNote(ctx, v.form("note")), in)
		if err == nil {
			return v.goTo(v.at("channels", in.Name) + "?said=stored")
		}
		if posthouse.CodeOf(err) == posthouse.CodeChanged && f.New {
			f.Problems = []posthouse.Problem{{Path: "name", Message: say("name_taken", v.zh)}}
			return v.draw(http.StatusUnprocessableEntity, "channel-form", title, f)
		}
		if posthouse.CodeOf(err) == posthouse.CodeChanged {
			now, err := v.call().Channels.Get(v.ctx(), ch.Name)
			if err != nil {
				return err
			}
			return v.bothChannels(d, now)
		}
		var coded *posthouse.Error
		if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
			return err
		}
		problems = coded.Problems
	}
	f.place(problems)
	return v.draw(http.StatusUnprocessableEntity, "channel-form", title, f)
}

// formOf is the form that shows a channel, or of a new one.
func formOf(d wire.Driver, ch posthouse.Channel) channelForm {
	f := channelForm{Driver: d, Name: ch.Name, New: ch.Name == "", Version: ch.Tag(), Settings: settingFields(ch)}
	for _, one := range d.Fields {
		f.Fields = append(f.Fields, fieldOf(one, ch.Config[one.Name]))
	}
	return f
}

// filled is the form as it was sent, but for secrets, which are typed again.
func (v *visit) filled(d wire.Driver, ch posthouse.Channel) channelForm {
	f := formOf(d, ch)
	for _, list := range [][]field{f.Fields, f.Settings} {
		for i := range list {
			if list[i].Kind != wire.FieldKind(channel.KindSecret) {
				list[i].Value = v.form(list[i].Name)
			}
			list[i].Checked = v.form(list[i].Name) != ""
		}
	}
	return f
}

// fieldOf is a field with the value that a configuration has.
func fieldOf(one wire.Field, value any) field {
	f := field{Field: one, Name: "config." + one.Name}
	switch value := value.(type) {
	case nil:
		f.Checked = one.Default == true
	case bool:
		f.Checked = value
	case map[string]any:
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			lines = append(lines, fmt.Sprintf("%s: %v", name, value[name]))
		}
		f.Value = strings.Join(lines, "\n")
	case []any:
		var lines []string
		for _, item := range value {
			lines = append(lines, fmt.Sprint(item))
		}
		f.Value = strings.Join(lines, "\n")
	default:
		f.Value = fmt.Sprint(value)
	}
	if one.Kind == wire.FieldKind(channel.KindSecret) {
		f.Stored, f.Value = f.Value != "", ""
	}
	return f
}

// settingFields are the settings that forms have; the others stay as they are.
func settingFields(ch posthouse.Channel) []field {
	var policies []string
	for _, p := range posthouse.Policies() {
		policies = append(policies, string(p))
	}
	tries := ""
	if ch.Tries > 0 {
		tries = strconv.Itoa(ch.Tries)
	}
	return []field{
		{Field: wire.Field{Label: "Profile", LabelZH: "预设", Help: "A set of defaults, such as duty, flow or wecom.", HelpZH: "一组默认设置，例如 duty、flow、wecom。", Kind: "string"}, Name: "profile", Value: ch.Profile},
		{Field: wire.Field{Label: "Tries", LabelZH: "最多失败次数", Help: "How many failures end a delivery. Without it the profile's, or 8.", HelpZH: "失败多少次后不再重试。不填则按预设，或 8 次。", Kind: wire.FieldKind(channel.KindInt), Min: 1}, Name: "tries", Value: tries},
		{Field: wire.Field{Label: "If it is unknown whether it arrived", LabelZH: "结果未知时", Help: "Try again, hold for a person, ask the provider, or count as sent.", HelpZH: "retry 重试，hold 等人处理，query 查询平台，assume_sent 视为已发。", Kind: wire.FieldKind(channel.KindChoice), Choices: policies}, Name: "on_unknown", Value: string(ch.OnUnknown)},
		{Field: wire.Field{Label: "Limits", LabelZH: "限流", Help: "One window a line, such as 20/1s or 1000/1m, or unlimited. Without it the driver's.", HelpZH: "每行一个窗口，例如 20/1s、1000/1m；unlimited 表示不限。不填则按渠道驱动的默认值。", Kind: wire.FieldKind(channel.KindText)}, Name: "limits", Value: posthouse.LimitsText(ch.Limits, "\n")},
	}
}

// channelFrom is a channel as the form says it. What cannot be a number is left for the API to refuse.
func (v *visit) channelFrom(d wire.Driver, ch posthouse.Channel) (posthouse.Channel, []posthouse.Problem) {
	var problems []posthouse.Problem
	config := map[string]any{}
	for _, one := range d.Fields {
		if value := v.valueOf(one, ch.Config[one.Name]); value != nil {
			config[one.Name] = value
		}
	}
	ch.Config = config
	ch.Profile, ch.OnUnknown = v.form("profile"), posthouse.Policy(v.form("on_unknown"))
	var err error
	if ch.Tries, err = strconv.Atoi(cmp.Or(v.form("tries"), "0")); err != nil {
		problems = append(problems, posthouse.Problem{Path: "tries", Message: say("want_number", v.zh)})
	}
	if ch.Limits, err = posthouse.ParseLimits(v.form("limits")); err != nil {
		problems = append(problems, posthouse.Problem{Path: "limits", Message: fmt.Sprintf("%.40q: %s", v.form("limits"), say("want_window", v.zh))})
	}
	return ch, problems
}

// valueOf is what the form says of a field, nil for nothing. An empty secret keeps the one that is stored.
func (v *visit) valueOf(one wire.Field, stored any) any {
	text := v.form("config." + one.Name)
	switch channel.Kind(one.Kind) {
	case channel.KindBool:
		return text != ""
	case channel.KindSecret:
		if text == "" && stored != nil {
			return channel.Mask
		}
	case channel.KindInt:
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	case channel.KindMap, channel.KindSecrets:
		out := map[string]any{}
		for line := range strings.Lines(text) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) != "" {
				out[strings.TrimSpace(name)] = strings.TrimSpace(value)
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case channel.KindList:
		var out []any
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	if text == "" {
		return nil
	}
	return text
}

// place puts each problem beside the field that it is about.
func (f *channelForm) place(problems []posthouse.Problem) {
	for _, p := range problems {
		if !placed(f.Fields, p) && !placed(f.Settings, p) {
			f.Problems = append(f.Problems, p)
		}
	}
}

func placed(list []field, p posthouse.Problem) bool {
	for i := range list {
		rest, ok := strings.CutPrefix(p.Path, list[i].Name)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			list[i].Problems = append(list[i].Problems, strings.TrimPrefix(rest+" ", ".")+p.Message)
			return true
		}
	}
	return false
}

// Say is the text of a driver in the visitor's language.
func (f frame) Say(en, zh string) string {
	if f.v.zh {
		return cmp.Or(zh, en)
	}
	return en
}

// Many reports whether a field has several lines.
func (f field) Many() bool {
	return slices.Contains([]channel.Kind{channel.KindText, channel.KindMap, channel.KindSecrets, channel.KindList}, channel.Kind(f.Kind))
}

// Input is the type of a field's input.
func (f field) Input() string {
	switch channel.Kind(f.Kind) {
	case channel.KindSecret:
		return "password"
	case channel.KindInt:
		return "number"
	case channel.KindURL:
		return "url"
	}
	return "text"
}

// Shape says how the lines of a field read, as a word.
func (f field) Shape() string {
	switch channel.Kind(f.Kind) {
	case channel.KindMap:
		return "lines_of_pairs"
	case channel.KindSecrets:
		return "lines_of_secrets"
	case channel.KindList:
		return "lines_of_items"
	case channel.KindDuration:
		return "a_duration"
	}
	return ""
}

// Usual is what holds where nothing is given, empty for nothing.
func (f field) Usual() string {
	if f.Default == nil {
		return ""
	}
	return fmt.Sprint(f.Default)
}
