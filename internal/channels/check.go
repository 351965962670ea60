package channels

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/retry"
)

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// finder collects what is wrong with a channel.
type finder []posthouse.Problem

func (f *finder) add(path, format string, args ...any) {
	*f = append(*f, posthouse.Problem{Path: path, Message: limittext.Said(format, args...)})
}

// Check finds what is wrong with a channel besides its driver's own fields. The type is empty where there is no
// such driver.
func (p *Opener) Check(ch posthouse.Channel) (channel.Type, []posthouse.Problem) {
	var f finder
	if !channelName.MatchString(ch.Name) {
		f.add("name", "is %q: want 1 to 63 of a-z, 0-9, '-', '_' and '.', the first a letter or digit", ch.Name)
	}
	t, ok := p.types[ch.Driver]
	if !ok {
		f.add("driver", "is %q, which is not a driver; %s", ch.Driver, channel.OneOf("drivers", ch.Driver, slices.Collect(maps.Keys(p.types))))
	}
	pulled := t.Pulled(ch.ChannelSettings)
	f.ranges(ch.ChannelSettings, pulled)
	f.title(ch.Title)
	f = append(f, retry.Check(ch.ChannelSettings)...)
	if ch.TimeZone != "" {
		if _, err := time.LoadLocation(ch.TimeZone); err != nil {
			f.add("time_zone", "is %q, which is not an IANA time zone such as Asia/Shanghai", ch.TimeZone)
		}
	}
	f.windows(ch.ChannelSettings, pulled)
	if !ch.LimitBy.Valid() {
		f.add("limit_by", "is %.60q: want recipients or calls", ch.LimitBy)
	}
	f.rate(ch.ChannelSettings, pulled)
	f.budgets(ch.ChannelSettings, pulled)
	f = append(f, quiet.Check("quiet_hours", ch.QuietHours, nil)...)
	f = append(f, quiet.CheckCaps("caps", ch.Caps)...)
	f.tests(ch.TestTo)
	f.promise(ch.Promise)
	for code, class := range ch.Codes {
		if !class.Valid() {
			f.add("codes."+code, "%s", channel.Want(class, posthouse.Classes()))
		}
	}
	if pulled && ch.Egress != nil {
		f.add("egress", "means nothing where agents fetch: the driver calls nobody. Leave it out")
	}
	if len(ch.Needs) > 0 && !pulled {
		f.add("needs", "are what agents must have: only a channel with pull has any")
	}
	f.fleet(ch.ChannelSettings, pulled)
	if ch.FairAfter != 0 && !pulled {
		f.add("fair_after", "is how long retries let new ones go first when agents fetch: only a channel with pull has it")
	}
	return t, f
}

// mostTestTo is how many addresses a channel lists for tests.
const mostTestTo = 100

// tests finds addresses that no test can go to.
func (f *finder) tests(to []string) {
	if len(to) > mostTestTo {
		f.add("test_to", "has %d addresses: want at most %d", len(to), mostTestTo)
	}
	for i, address := range to {
		switch {
		case strings.TrimSpace(address) == "" || len(address) > 255:
			f.add(fmt.Sprintf("test_to[%d]", i), "has %d bytes: want an address of 1 to 255", len(address))
		case channel.IsEverybody(address):
			f.add(fmt.Sprintf("test_to[%d]", i), "is %q, which is everybody: want the addresses of those who expect tests", address)
		}
	}
}

// promise finds waits that cannot be promised.
func (f *finder) promise(p map[posthouse.Priority]posthouse.Duration) {
	for priority, wait := range p {
		if !priority.Valid() {
			f.add("promise."+string(priority), "is of no priority: want %v", posthouse.Priorities())
		} else if wait.Std() < time.Second || wait.Std() > 30*24*time.Hour {
			f.add("promise."+string(priority), "is %s: want 1s to %s", wait, posthouse.Duration(30*24*time.Hour))
		}
	}
}

// fleet finds what does not go with accounts, and what goes with nothing else.
func (f *finder) fleet(s posthouse.ChannelSettings, pulled bool) {
	switch {
	case s.Accounts && pulled:
		f.add("accounts", "are what our workers send by: agents fetch from a channel with pull")
	case s.Accounts && s.Every != nil && *s.Every != 0:
		f.add("every", "is %s: a channel with accounts sends continuously", *s.Every)
	}
	if s.Sticky != "" && s.Sticky != posthouse.StickyConversation {
		f.add("sticky", "is %q: want conversation, or nothing", s.Sticky)
	}
	if s.Sticky != "" && !s.Accounts {
		f.add("sticky", "keeps a conversation on one account: only a channel with accounts has any")
	}
	if s.Failover && !s.Accounts {
		f.add("failover", "moves messages to another account: only a channel with accounts has any")
	}
	if s.ChannelMaxInflight != 0 && !s.Accounts {
		f.add("channel_max_inflight", "bounds all accounts together: without accounts max_inflight is that bound")
	}
}

// maxTitle bounds a title, in characters.
const maxTitle = 255

// title finds a title that fits no line of a page.
func (f *finder) title(text string) {
	if n := utf8.RuneCountInString(text); n > maxTitle || strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
		f.add("title", "is one line of at most %d characters, such as 柜台短信", maxTitle)
	}
}

// ranges finds durations and numbers that are out of bounds.
func (f *finder) ranges(s posthouse.ChannelSettings, pulled bool) {
	inRange := func(path string, d posthouse.Duration, least, most time.Duration) {
		if d != 0 && (d.Std() < least || d.Std() > most) {
			f.add(path, "is %s: want %s to %s", d, posthouse.Duration(least), posthouse.Duration(most))
		}
	}
	if s.Every != nil {
		inRange("every", *s.Every, time.Second, 24*time.Hour)
	}
	if pulled {
		inRange("timeout", s.Timeout, time.Second, 24*time.Hour)
	} else {
		inRange("timeout", s.Timeout, 100*time.Millisecond, 5*time.Minute)
	}
	inRange("hold_timeout", s.HoldTimeout, time.Second, 30*24*time.Hour)
	inRange("fair_after", s.FairAfter, time.Second, 366*24*time.Hour)
	inRange("dedup_window", s.DedupWindow, time.Second, 366*24*time.Hour)
	for _, n := range []struct {
		path    string
		n, most int
	}{{"max_inflight", s.MaxInflight, 10000}, {"channel_max_inflight", s.ChannelMaxInflight, 100000}, {"batch", s.Batch, 10000}} {
		if n.n < 0 || n.n > n.most {
			f.add(n.path, "is %d: want 1 to %d", n.n, n.most)
		}
	}
	if pulled && s.Every != nil && *s.Every != 0 {
		f.add("every", "is %s: agents ask when they like, so leave it out", *s.Every)
	}
}

// mostWindows are the windows that one tier may have: a second, a minute, an hour and a day.
const mostWindows = 4

// windows finds limits that cannot be kept, in all tiers.
func (f *finder) windows(s posthouse.ChannelSettings, pulled bool) {
	check := func(path string, windows []posthouse.Limit) {
		if len(windows) > mostWindows {
			f.add(path, "has %d windows: at most %d are allowed", len(windows), mostWindows)
			return
		}
		for _, p := range limit.Check(windows) {
			f.add(path+p.Path, "%s", p.Message)
		}
	}
	check("limits", s.Limits)
	check("account_limits", s.AccountLimits)
	check("recipient_limits", s.RecipientLimits)
	for _, kind := range slices.Sorted(maps.Keys(s.TypeLimits)) {
		if !kind.Valid() {
			f.add("type_limits."+string(kind), "is no content type: want one of %v", posthouse.ContentTypes())
		}
		check("type_limits."+string(kind), s.TypeLimits[kind])
	}
	for _, name := range slices.Sorted(maps.Keys(s.TemplateLimits)) {
		check("template_limits."+name, s.TemplateLimits[name])
	}
	for _, tier := range []struct {
		path string
		n    int
	}{
		{"account_limits", len(s.AccountLimits)}, {"recipient_limits", len(s.RecipientLimits)},
		{"type_limits", len(s.TypeLimits)}, {"template_limits", len(s.TemplateLimits)},
	} {
		if pulled && tier.n > 0 {
			f.add(tier.path, "mean nothing where agents fetch: an agent has limits of its own, so leave them out")
		}
	}
}

// rate finds rates that cannot be kept.
func (f *finder) rate(s posthouse.ChannelSettings, pulled bool) {
	switch {
	case s.Rate == nil:
	case pulled:
		f.add("rate", "means nothing where agents fetch: leave it out")
	case s.Every != nil && *s.Every > 0:
		f.add("rate", "does not go with every: a channel that sends in runs is as fast as its limits allow")
	default:
		for _, p := range rate.Check(s.Rate) {
			f.add("rate."+p.Path, "%s", p.Message)
		}
	}
}
