package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// keep stores a template of the rig's tenant.
func (r *rig) keep(t posthouse.Template) posthouse.Template {
	r.Helper()
	t.Tenant = r.tenant
	stored, err := r.store.Templates.PutTemplate(r.Context(), time.Now(), t)
	if err != nil {
		r.Fatal(err)
	}
	return stored
}

// refused accepts drafts that have problems, and returns them as "path message".
func (r *rig) refused(d posthouse.Draft) string {
	r.Helper()
	d.To = []posthouse.Recipient{{User: "u1"}}
	_, err := r.engine.Intake.Accept(r.Context(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{d}})
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
			{Channel: "oa", Kind: "done", DedupWindow: -1}:      "dedup_window is -1ns: at most 3650d, ten years, is allowed",
			{Channel: "oa", Kind: "done", DedupWindow: 1 << 60}: "dedup_window is",
			{Channel: "oa", Kind: "done", Payload: []byte(`{"n":1}`), Clock: &posthouse.Clock{}}:                                            "clock is empty",
			{Channel: "oa", Content: &posthouse.Content{Text: "x"}, Clock: &posthouse.Clock{Until: time.Now()}}:                             "clock needs a template",
			{Channel: "oa", Kind: "done", Payload: []byte(`{"n":1}`), Clock: &posthouse.Clock{Until: time.Unix(1<<40, 0)}}:                  "clock.until is in the year",
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
	hours(t)
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
