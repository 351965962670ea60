package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

// FLOW-8: what the countdown and the overtime are, and what becomes of a maxDuration.
func TestAClockCountsWholeMinutes(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		payload string
		clock   posthouse.Clock
		want    string
	}{
		"to a moment":                  {`{}`, posthouse.Clock{Until: noon.Add(15 * time.Minute)}, `{"remainMin":15}`},
		"a minute that has begun":      {``, posthouse.Clock{Until: noon.Add(14*time.Minute + time.Microsecond)}, `{"remainMin":15}`},
		"the moment itself":            {`null`, posthouse.Clock{Until: noon}, `{"remainMin":0}`},
		"past the moment":              {`{"remainMin":9}`, posthouse.Clock{Until: noon.Add(-time.Hour)}, `{"remainMin":0}`},
		"since a moment":               {`{}`, posthouse.Clock{Since: noon.Add(-90*time.Minute - 59*time.Second)}, `{"overtime":90}`},
		"before it begins":             {`{}`, posthouse.Clock{Since: noon.Add(time.Hour)}, `{"overtime":0}`},
		"over a maxDuration":           {`{"maxDuration":"60","taskName":"T"}`, posthouse.Clock{Since: noon.Add(-time.Hour)}, `{"maxDuration":60,"originalMaxDuration":"60","overtime":60,"taskName":"T"}`},
		"both":                         {`{"n":1.50}`, posthouse.Clock{Until: noon.Add(time.Hour), Since: noon.Add(-time.Hour)}, `{"n":1.50,"overtime":60,"remainMin":60}`},
		"a maxDuration only till then": {`{"maxDuration":5}`, posthouse.Clock{Until: noon}, `{"maxDuration":5,"remainMin":0}`},
	} {
		_, got, problems := fillAt(posthouse.Template{Text: "x"}, []byte(c.payload), &c.clock, noon)
		if string(got) != c.want || len(problems) > 0 {
			t.Errorf("%s: got %s, problems %v; want %s", name, got, problems, c.want)
		}
	}
}

// FLOW-10.
func TestPlatformAddressIsPutWhereThereIsNone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                        `{"platformUrl":"https://x.test/"}`,
		`{"a":1}`:                 `{"a":1,"platformUrl":"https://x.test/"}`,
		`{"platformUrl":"mine"}`:  `{"platformUrl":"mine"}`,
		`{ "platformUrl" : null}`: `{ "platformUrl" : null}`,
	} {
		if got, err := withPlatform([]byte(in), "https://x.test/"); string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
		if got, err := withPlatform([]byte(in), ""); string(got) != in || err != nil {
			t.Errorf("%s without an address: got %s, %v", in, got, err)
		}
	}
}

// keep stores a template of the rig's tenant.
func (r *rig) keep(t posthouse.Template) posthouse.Template {
	r.Helper()
	t.Tenant = r.tenant
	stored, err := r.store.PutTemplate(r.Context(), time.Now(), t)
	if err != nil {
		r.Fatal(err)
	}
	return stored
}

// refused accepts drafts that have problems, and returns them as "path message".
func (r *rig) refused(d posthouse.Draft) string {
	r.Helper()
	d.To = []posthouse.Recipient{{User: "u1"}}
	_, err := r.engine.Accept(r.Context(), Request{Tenant: r.tenant, Drafts: []posthouse.Draft{d}})
	if posthouse.CodeOf(err) != posthouse.CodeInvalid {
		r.Errorf("Accept(%+v) = %v, want problems", d, err)
	}
	var list []string
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		for _, p := range coded.Problems {
			list = append(list, p.Path+" "+p.Message)
		}
	}
	return strings.Join(list, "; ")
}

// FLOW-10: templates per business type and channel.
func TestADraftWithoutContentUsesTheTemplateOfItsKind(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("oa", posthouse.ChannelSettings{}, idempotent)
		r.open("dingtalk", posthouse.ChannelSettings{}, idempotent)
		r.keep(posthouse.Template{Name: "done", Text: "all: ${n}", ExternalID: "SE1"})
		r.keep(posthouse.Template{Name: "done.oa", Text: "oa: ${n}", ExternalID: "SE2"})
		r.keep(posthouse.Template{Name: "gone.oa", Text: "oa", Disabled: true})
		r.keep(posthouse.Template{Name: "gone", Text: "all"})
		for _, channel := range []string{"oa", "dingtalk"} {
			r.send(posthouse.Draft{Channel: channel, Kind: "done", Payload: []byte(`{"n":1}`), To: []posthouse.Recipient{{User: "u1"}}})
			r.pass(time.Second)
		}
		type sent struct{ Text, Template, ID string }
		var got []sent
		for _, out := range r.provider.sends {
			got = append(got, sent{out.Content.Text, out.Template, out.TemplateID})
		}
		if diff := cmp.Diff([]sent{{"oa: 1", "done.oa", "SE2"}, {"all: 1", "done", "SE1"}}, got); diff != "" {
			r.Error(diff)
		}
		for d, want := range map[*posthouse.Draft]string{
			{Channel: "oa", Kind: "new"}:                        `content is required: there is no template "new.oa" or "new"`,
			{Channel: "oa", Kind: "gone"}:                       `the template "gone.oa" is disabled`,
			{Channel: "oa", Template: "gone.oa"}:                `template the template "gone.oa" is disabled`,
			{Channel: "oa"}:                                     "content is required, or a template",
			{Channel: "oa", Kind: "done", DedupWindow: -1}:      "dedup_window is -1ns: at most 87600h, ten years, is allowed",
			{Channel: "oa", Kind: "done", DedupWindow: 1 << 60}: "dedup_window is",
			{Channel: "oa", Kind: "done", Payload: []byte(`{"n":1}`), Clock: &posthouse.Clock{}}:                                            "clock is empty",
			{Channel: "oa", Content: &posthouse.Content{Text: "x"}, Clock: &posthouse.Clock{Until: time.Now()}}:                             "clock needs a template",
			{Channel: "oa", Kind: "done", Payload: []byte(`{"n":1}`), Clock: &posthouse.Clock{Until: time.Unix(1<<40, 0)}}:                  "clock names the year",
			{Channel: "oa", Kind: "done", Clock: &posthouse.Clock{Until: time.Now()}}:                                                       "payload.n the template needs a value here",
			{Channel: "oa", Kind: "done", Payload: []byte(`{"n":1}`), Template: "none", Clock: &posthouse.Clock{Until: time.Now()}}:         `there is no template "none"`,
			{Channel: "oa", Template: "done", Content: &posthouse.Content{Text: "x"}, Payload: []byte(`{"n":1}`), DedupWindow: 0, Kind: ""}: "content stands beside a template",
		} {
			if got := r.refused(*d); !strings.Contains(got, want) {
				r.Errorf("%+v: got %q, want %q", *d, got, want)
			}
		}
	})
}

func TestADraftsDedupWindowOverridesTheChannels(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{DedupWindow: posthouse.Duration(5 * time.Minute)}, idempotent)
		d := text("c", "u1")
		d.DedupKey = "short"
		long := d
		long.DedupKey, long.DedupWindow = "long", posthouse.Duration(time.Hour)
		for range 2 {
			r.send(d)
			r.send(long)
			r.pass(10 * time.Minute)
		}
		if n := len(r.provider.sends); n != 3 {
			r.Errorf("%d messages were sent, want the short one twice and the long one once", n)
		}
	})
}

func TestAUsersIDIsNoAddressWhereTheDriverSaysSo(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("own", posthouse.ChannelSettings{}, state.Opened{Window: idempotent.Window, OwnAddresses: true})
		r.open("any", posthouse.ChannelSettings{}, idempotent)
		for _, channel := range []string{"own", "any"} {
			r.send(text(channel, "u1"))
			r.pass(time.Second)
		}
		got := []string{r.provider.sends[0].Recipient.Address, r.provider.sends[1].Recipient.Address}
		if diff := cmp.Diff([]string{"", "u1"}, got); diff != "" {
			r.Error(diff)
		}
	})
}
