// Package phone reads phone numbers as people and programs write them, and says what they are in E.164.
// It knows numbering plans, and is the only package that asks the library that has them. It does not know
// who serves a number: numbers move between operators.
package phone

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// Number is a phone number that exists in its country's numbering plan.
type Number struct {
	// E164 is the number for everybody, such as +8613800138000.
	E164 string
	// National is what people of its region dial, digits alone, such as 13800138000.
	National string
	// Region is where it belongs, two letters such as CN. Empty where it is of no country.
	Region string
	// Mobile is set where text messages arrive at it, as far as the numbering plan tells.
	Mobile bool
}

// Home is the region of numbers that are written without a country where no setting names one.
const Home = "CN"

// maxLength bounds what is looked at, in bytes: E.164 has 15 digits, and signs between them take room.
const maxLength = 64

// Known reports whether region is the code of a country that has a numbering plan.
func Known(region string) bool { return phonenumbers.GetCountryCodeForRegion(region) != 0 }

// Parse reads a number. Without a plus sign it is one of region, such as CN; an empty region takes no number
// without one. The error says what is wrong, without the number itself: it may go to a log.
func Parse(text, region string) (Number, error) {
	plain, err := clean(text)
	if err != nil {
		return Number{}, err
	}
	if region == "" && plain[0] != '+' {
		return Number{}, errors.New("has no country code: write it as +86 138…")
	}
	if region != "" && !Known(region) {
		return Number{}, fmt.Errorf("cannot be read: there is no region %q", region)
	}
	n, err := phonenumbers.Parse(plain, region)
	if err != nil {
		return Number{}, refusal(plain, err)
	}
	if !phonenumbers.IsValidNumber(n) {
		return Number{}, invalid(n)
	}
	return Number{
		E164:     phonenumbers.Format(n, phonenumbers.E164),
		National: digits(phonenumbers.Format(n, phonenumbers.NATIONAL)),
		Region:   country(phonenumbers.GetRegionCodeForNumber(n)),
		Mobile:   mobile(phonenumbers.GetNumberType(n)),
	}, nil
}

// clean is the number in ASCII digits with at most a plus before them. Everything that people put between
// digits goes; what nobody does is an error, so that two numbers in one field are not taken for one.
func clean(text string) (string, error) {
	if len(text) > maxLength {
		return "", fmt.Errorf("is too long: a number has at most 15 digits, this text has %d bytes", len(text))
	}
	var b strings.Builder
	for i, r := range []rune(text) {
		switch digit, ok := digitOf(r); {
		case ok:
			b.WriteByte(digit)
		case (r == '+' || r == '＋') && b.Len() == 0:
			b.WriteByte('+')
		case !between(r):
			return "", fmt.Errorf("has %q at place %d: only digits, spaces, a leading + and ( ) - . are allowed", r, i+1)
		}
	}
	if strings.Trim(b.String(), "+") == "" {
		return "", errors.New("is empty")
	}
	return b.String(), nil
}

// digitOf reads ASCII and full-width digits.
func digitOf(r rune) (byte, bool) {
	switch {
	case '0' <= r && r <= '9':
		return byte(r), true
	case '０' <= r && r <= '９':
		return byte(r-'０') + '0', true
	}
	return 0, false
}

// between reports what stands between digits: spaces, dashes, and the invisible marks of writing direction
// that come with a number copied from a phone's contacts.
func between(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Pd, r) || strings.ContainsRune("().（）", r)
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// refusal says in our words why the library could not read a number.
func refusal(plain string, err error) error {
	switch {
	case errors.Is(err, phonenumbers.ErrInvalidCountryCode):
		return errors.New("begins with a country code that does not exist")
	case errors.Is(err, phonenumbers.ErrNumTooLong):
		return fmt.Errorf("is too long: it has %d digits", len(digits(plain)))
	}
	return fmt.Errorf("is too short: it has %d digits", len(digits(plain)))
}

// invalid says why a number that could be read does not exist. Numbers of one country have many lengths, so
// it is compared with a mobile number: that is what people mean.
func invalid(n *phonenumbers.PhoneNumber) error {
	code, length := n.GetCountryCode(), len(phonenumbers.GetNationalSignificantNumber(n))
	region := phonenumbers.GetRegionCodeForCountryCode(int(code))
	example := phonenumbers.GetExampleNumberForType(region, phonenumbers.MOBILE)
	if example == nil {
		return fmt.Errorf("is not a number of +%d that exists", code)
	}
	if usual := len(phonenumbers.GetNationalSignificantNumber(example)); length != usual {
		return fmt.Errorf("is not a number of +%d: it has %d digits after the country code, mobile numbers there have %d", code, length, usual)
	}
	return fmt.Errorf("is not a number of +%d that exists: nobody was given numbers that begin so", code)
}

// country leaves out the code that stands for no country: 001, such as that of satellite phones.
func country(region string) string {
	if region == "001" || region == "ZZ" {
		return ""
	}
	return region
}

// mobile reports whether numbers of a kind take text messages. In some plans, such as that of +1, mobile
// numbers cannot be told from others: they may.
func mobile(kind phonenumbers.PhoneNumberType) bool {
	switch kind {
	case phonenumbers.MOBILE, phonenumbers.FIXED_LINE_OR_MOBILE, phonenumbers.PERSONAL_NUMBER,
		phonenumbers.PAGER, phonenumbers.VOIP:
		return true
	}
	return false
}
