package pull_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/pull"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Case{Type: pull.Type(), Offline: true, Same: []string{"+8613800000001", "+86 138-0000-0001", "１３８００００００01"}})
}

func TestContractOfOtherThanSMS(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: pull.Type(), Offline: true,
		Config:  func(string) map[string]any { return map[string]any{"content": "any"} },
		Address: func(string) string { return "printer-3" },
	})
}

func Example() {
	config, _ := pull.Type().Validate(nil)
	address, _ := pull.Type().Address(config, "138 0013 8000")
	driver, _ := pull.Type().Open(config, channel.Env{})
	problems := driver.(channel.Fitter).Fit(posthouse.Content{Text: strings.Repeat("短信", 40)})
	fmt.Println(address)
	fmt.Println(problems[0].Path, problems[0].Message)
	// Output:
	// +8613800138000
	// text goes out in 2 parts, and each is charged: it has 80 units of UCS-2, one part takes 70
}

// PULL-13
func TestAddressesOfSMSAreMobileNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, region, text, want, err string }{
		{"sms", "CN", "13800138000", "+8613800138000", ""},
		{"sms", "CN", "+852 5123 4567", "+85251234567", ""},
		{"sms", "HK", "5123 4567", "+85251234567", ""},
		{"sms", "CN", "010-85296666", "", "is no mobile number of CN: text messages do not arrive at it"},
		{"sms", "CN", "u17", "", `has 'u' at place 1: only digits, spaces, a leading + and ( ) - . are allowed`},
		{"any", "CN", "u17", "u17", ""},
	} {
		config, problems := pull.Type().Validate(map[string]any{"content": c.content, "region": c.region})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		got, err := pull.Type().Address(config, c.text)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func TestARegionThatDoesNotExistIsRefused(t *testing.T) {
	t.Parallel()
	_, got := pull.Type().Validate(map[string]any{"region": "cn"})
	want := []posthouse.Problem{{Path: "config.region", Message: `is "cn": want the two capital letters of a country, such as CN or HK`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Validate (-want +got):\n%s", diff)
	}
}

func TestFitSaysWhatATextMessageCosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind string
		of   posthouse.Content
		want []posthouse.Problem
	}{
		"one part": {"sms", posthouse.Content{Text: "Your code is 123456"}, nil},
		"three parts": {"sms", posthouse.Content{Text: strings.Repeat("a", 307)}, []posthouse.Problem{
			{Path: "text", Message: "goes out in 3 parts, and each is charged: it has 307 units of GSM-7, one part takes 160"}}},
		"a title":          {"sms", posthouse.Content{Title: "Hello", Text: "Hello"}, []posthouse.Problem{{Path: "title", Message: "is not sent: a text message has none"}}},
		"of other than it": {"any", posthouse.Content{Title: "Hello", Text: strings.Repeat("a", 307)}, nil},
	} {
		config, _ := pull.Type().Validate(map[string]any{"content": c.kind})
		driver, err := pull.Type().Open(config, channel.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, driver.(channel.Fitter).Fit(c.of)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
