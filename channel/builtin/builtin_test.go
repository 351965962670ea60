package builtin_test

import (
	"testing"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
)

func TestEachDriverIsFoundByItsName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, want := range builtin.Types() {
		got, ok := builtin.Lookup(want.Name)
		if !ok || got.Title != want.Title || seen[want.Name] {
			t.Errorf("Lookup(%q) = %q, %t; want %q, once", want.Name, got.Title, ok, want.Title)
		}
		seen[want.Name] = true
	}
	if _, ok := builtin.Lookup("no_such_driver"); ok {
		t.Error("a driver that does not exist is found")
	}
}

func TestEachDriverDescribesItselfInBothLanguages(t *testing.T) {
	t.Parallel()
	for _, typ := range builtin.Types() {
		if typ.TitleZH == "" || typ.DocZH == "" {
			t.Errorf("the driver %s has no title or doc in Chinese: %q, %q", typ.Name, typ.TitleZH, typ.DocZH)
		}
		for _, f := range typ.Fields {
			if f.LabelZH == "" || (f.Help == "") != (f.HelpZH == "") {
				t.Errorf("the field %s of the driver %s lacks one of its languages: %+v", f.Name, typ.Name, f)
			}
			for _, c := range f.Choices {
				if c.Label == "" || c.LabelZH == "" {
					t.Errorf("the choice %s of the field %s of the driver %s has no label in one of the languages: %+v", c.Value, f.Name, typ.Name, c)
				}
			}
		}
	}
}

// mostInView bounds the fields of a driver's form that stand in view: what few need is folded by groups.
const mostInView = 12

// Each driver's form is one that a person looks through: the fields of a group stand together, nothing that must be filled in is folded away,
// and the rest is short.
func TestEachDriverFoldsWhatFewNeed(t *testing.T) {
	t.Parallel()
	for _, typ := range builtin.Types() {
		seen, last, inView := map[channel.Group]bool{}, channel.Group{}, 0
		for _, f := range typ.Fields {
			switch g := f.Group; {
			case g == (channel.Group{}):
				inView++
			case g.Label == "" || g.LabelZH == "":
				t.Errorf("the group of the field %s of the driver %s lacks one of its languages: %+v", f.Name, typ.Name, g)
			case f.Required:
				t.Errorf("the field %s of the driver %s must be filled in and is folded away", f.Name, typ.Name)
			case g != last && seen[g]:
				t.Errorf("the fields of the group %q of the driver %s do not stand together: see %s", g.Label, typ.Name, f.Name)
			}
			last, seen[f.Group] = f.Group, true
		}
		if inView > mostInView {
			t.Errorf("the form of the driver %s has %d fields in view: want %d at most, the others in groups", typ.Name, inView, mostInView)
		}
	}
}

// Each driver says what its addresses are, unless they are of several kinds or free texts.
func TestEachDriverSaysWhatItsAddressesAre(t *testing.T) {
	t.Parallel()
	kind := func(name string, config map[string]any) channel.AddressKind {
		typ, _ := builtin.Lookup(name)
		if typ.AddressesOf == nil {
			return typ.Addresses
		}
		c, _ := typ.Validate(config)
		return typ.AddressesOf(c)
	}
	for want, names := range map[channel.AddressKind][]string{
		channel.AddressUser:   {"dingtalk", "dingtalk_work", "wecom", "feishu"},
		channel.AddressOpenID: {"wechat", "wechat_subscribe"},
		channel.AddressPhone:  {"sms", "pull"},
		channel.AddressMail:   {"email"},
		channel.AddressDevice: {"apns", "fcm", "huawei"},
		"":                    {"dingtalk_robot", "wecom_robot", "webhook", "httpapi", "console", "discard"},
	} {
		for _, name := range names {
			if _, is := builtin.Lookup(name); !is || kind(name, nil) != want {
				t.Errorf("the addresses of %s are %q, want %q", name, kind(name, nil), want)
			}
		}
	}
	for setting, want := range map[string]channel.AddressKind{"phone": channel.AddressPhone, "phone_cn": channel.AddressPhone, "mail": channel.AddressMail, "as_written": ""} {
		if got := kind("httpapi", map[string]any{"addresses": setting}); got != want {
			t.Errorf("addresses that are %s are %q, want %q", setting, got, want)
		}
	}
	if got := kind("pull", map[string]any{"content": "any"}); got != "" {
		t.Errorf("of anything that is pulled they are %q", got)
	}
}
