package sms_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/sms"
)

func ExampleParts() {
	for _, text := range []string{"Your code is 123456", "您的验证码是123456，用户张三", strings.Repeat("短信", 36)} {
		size := sms.Parts(text)
		fmt.Println(size.Encoding, size.Units, "of", size.PerPart, "in", size.Parts)
	}
	// Output:
	// gsm7 19 of 160 in 1
	// ucs2 17 of 70 in 1
	// ucs2 72 of 67 in 2
}

// PULL-13: the number of parts.
func TestPartsAreCountedAsNetworksDo(t *testing.T) {
	t.Parallel()
	of := strings.Repeat
	for name, c := range map[string]struct {
		text string
		want sms.Size
	}{
		"nothing":                                 {"", sms.Size{sms.GSM7, 0, 0, 160}},
		"160 fill one part":                       {of("a", 160), sms.Size{sms.GSM7, 160, 1, 160}},
		"161 need two":                            {of("a", 161), sms.Size{sms.GSM7, 161, 2, 153}},
		"306 fill two":                            {of("a", 306), sms.Size{sms.GSM7, 306, 2, 153}},
		"307 need three":                          {of("a", 307), sms.Size{sms.GSM7, 307, 3, 153}},
		"an extension character is two":           {of("€", 80), sms.Size{sms.GSM7, 160, 1, 160}},
		"each of the extension table is two":      {"\f^{}\\[~]|€", sms.Size{sms.GSM7, 20, 1, 160}},
		"an escape is not cut off its character":  {of("a", 152) + "€" + of("a", 152), sms.Size{sms.GSM7, 306, 3, 153}},
		"accents of the default alphabet are one": {"àéùìòÇñüß¿¡§\r\n@", sms.Size{sms.GSM7, 15, 1, 160}},
		"one of another alphabet makes all UCS-2": {of("a", 70) + "ç", sms.Size{sms.UCS2, 71, 2, 67}},
		"70 Chinese fill one part":                {of("字", 70), sms.Size{sms.UCS2, 70, 1, 70}},
		"71 need two":                             {of("字", 71), sms.Size{sms.UCS2, 71, 2, 67}},
		"134 fill two":                            {of("字", 134), sms.Size{sms.UCS2, 134, 2, 67}},
		"135 need three":                          {of("字", 135), sms.Size{sms.UCS2, 135, 3, 67}},
		"a character beyond the basic plane":      {of("😀", 35), sms.Size{sms.UCS2, 70, 1, 70}},
		"a surrogate pair is not cut":             {of("字", 66) + "😀" + of("字", 66), sms.Size{sms.UCS2, 134, 3, 67}},
		"the backtick is not of GSM-7":            {"`", sms.Size{sms.UCS2, 1, 1, 70}},
		"a text that is not UTF-8":                {"\xff", sms.Size{sms.UCS2, 1, 1, 70}},
		"the longest of the front door":           {of("字", sms.MaxCharacters), sms.Size{sms.UCS2, 200, 3, 67}},
	} {
		if got := sms.Parts(c.text); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
