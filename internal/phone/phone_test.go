package phone_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/phone"
)

func ExampleParse() {
	n, _ := phone.Parse("138 0013 8000", "CN")
	fmt.Println(n.E164, n.National, n.Region, n.Mobile)
	_, err := phone.Parse("1380013800", "CN")
	fmt.Println("phone_number", err)
	// Output:
	// +8613800138000 13800138000 CN true
	// phone_number is not a number of +86: it has 10 digits after the country code, mobile numbers there have 11
}

// PULL-13: mainland numbers and E.164.
func TestANumberIsReadHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	cn := phone.Number{E164: "+8613800138000", National: "13800138000", Region: "CN", Mobile: true}
	for text, want := range map[string]phone.Number{
		"13800138000":               cn,
		"+8613800138000":            cn,
		"8613800138000":             cn,
		"008613800138000":           cn,
		" +86 138-0013-8000 ":       cn,
		"（+86）13800138000":          cn,
		"１３８００１３８０００":               cn,
		"\u202d138 0013 8000\u202c": cn,
		"17000000000":               {E164: "+8617000000000", National: "17000000000", Region: "CN", Mobile: true},
		"19912345678":               {E164: "+8619912345678", National: "19912345678", Region: "CN", Mobile: true},
		"010-8529 6666":             {E164: "+861085296666", National: "01085296666", Region: "CN"},
		"400 800 1234":              {E164: "+864008001234", National: "4008001234", Region: "CN"},
		"+852 5123 4567":            {E164: "+85251234567", National: "51234567", Region: "HK", Mobile: true},
		"+886 912 345 678":          {E164: "+886912345678", National: "0912345678", Region: "TW", Mobile: true},
		"+1 (202) 456-1414":         {E164: "+12024561414", National: "2024561414", Region: "US", Mobile: true},
		"+44 7400 123456":           {E164: "+447400123456", National: "07400123456", Region: "GB", Mobile: true},
		"+39 312 345 6789":          {E164: "+393123456789", National: "3123456789", Region: "IT", Mobile: true},
	} {
		got, err := phone.Parse(text, "CN")
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// PULL-13
func TestARefusalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, region, want string }{
		{"", "CN", "is empty"},
		{" + ", "CN", "is empty"},
		{"12", "CN", "is not a number of +86: it has 2 digits after the country code, mobile numbers there have 11"},
		{"1380013800", "CN", "is not a number of +86: it has 10 digits after the country code, mobile numbers there have 11"},
		{"138001380001", "CN", "is not a number of +86: it has 12 digits after the country code, mobile numbers there have 11"},
		{"12000138000", "CN", "is not a number of +86 that exists: nobody was given numbers that begin so"},
		{"+999 1234567", "CN", "begins with a country code that does not exist"},
		{"13800138000,13800138001", "CN", "has ',' at place 12: only digits, spaces, a leading + and ( ) - . are allowed"},
		{"13800138000x5", "CN", "has 'x' at place 12: only digits, spaces, a leading + and ( ) - . are allowed"},
		{"138+00138000", "CN", "has '+' at place 4: only digits, spaces, a leading + and ( ) - . are allowed"},
		{"张三", "CN", "has '张' at place 1: only digits, spaces, a leading + and ( ) - . are allowed"},
		{strings.Repeat("1", 40), "CN", "is too long: it has 40 digits"},
		{strings.Repeat("1", 65), "CN", "is too long: a number has at most 15 digits, this text has 65 bytes"},
		{"13800138000", "", "has no country code: write it as +86 138…"},
		{"13800138000", "ZZ", `cannot be read: there is no region "ZZ"`},
	} {
		got, err := phone.Parse(c.text, c.region)
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q, %q) = %+v, %v; want error %q", c.text, c.region, got, err, c.want)
		}
	}
}

func TestANumberInE164NeedsNoRegion(t *testing.T) {
	t.Parallel()
	got, err := phone.Parse("+8613800138000", "")
	if err != nil || got.National != "13800138000" {
		t.Errorf("Parse = %+v, %v", got, err)
	}
}

func TestKnownRegions(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]bool{"CN": true, "HK": true, "US": true, "": false, "cn": false, "ZZ": false, "001": false} {
		if got := phone.Known(region); got != want {
			t.Errorf("Known(%q) = %t, want %t", region, got, want)
		}
	}
}

// Whatever is read reads the same again in each of its forms, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"13800138000", "+8613800138000", "0086 10 8529 6666", "+883 5100 0000 000", "+1-900-234-5678", "+", "٣"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := phone.Parse(text, "CN")
		if err != nil {
			return
		}
		again, err := phone.Parse(n.E164, "")
		if err != nil || again != n {
			t.Errorf("Parse(%q) = %+v, but Parse(%q) = %+v, %v", text, n, n.E164, again, err)
		}
	})
}
