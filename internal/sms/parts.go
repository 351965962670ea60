// Package sms knows what a text message is made of: how many parts a text takes on the air, and how the
// SMS front door fills its templates. It sends nothing and stores nothing.
package sms

import (
	"strings"
	"unicode/utf16"
)

// MaxCharacters is how long a text of the SMS front door may be, in code points.
const MaxCharacters = 200

// Encoding is how a text travels. One character outside of GSM-7 makes the whole text UCS-2.
type Encoding string

// The encodings.
const (
	GSM7 Encoding = "gsm7"
	UCS2 Encoding = "ucs2"
)

// Title is what people call it.
func (e Encoding) Title() string {
	if e == GSM7 {
		return "GSM-7"
	}
	return "UCS-2"
}

// Room is how many units a text of one part takes.
func (e Encoding) Room() int {
	if e == GSM7 {
		return 160
	}
	return 70
}

// split is how many units each part takes where there are several.
func (e Encoding) split() int {
	if e == GSM7 {
		return 153
	}
	return 67
}

// Size says what a text takes on the air.
type Size struct {
	Encoding Encoding `json:"encoding"`
	// Units are septets of GSM-7, two for a character of the extension table, or 16-bit units of UCS-2, two
	// for a character beyond the basic plane.
	Units int `json:"units"`
	// Parts is how many messages the network carries and bills; an empty text has none.
	Parts int `json:"parts"`
	// PerPart is how many units one of these parts takes.
	PerPart int `json:"per_part"`
}

// The alphabets are those of 3GPP TS 23.038, section 6.2.1: the default one, and its extension table.
const (
	gsmDefault = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡" +
		"ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtension = "\f^{}\\[~]|€"
)

// Parts measures a text. A part has 140 bytes; where there are several, each gives six of them to the header
// that puts them in order again, and no character is cut in two.
func Parts(text string) Size {
	if units, ok := septets(text); ok {
		return fill(GSM7, units)
	}
	return fill(UCS2, codeUnits(text))
}

// septets is how many septets each character takes in GSM-7, or that the text has one that GSM-7 has not.
func septets(text string) ([]int, bool) {
	units := make([]int, 0, len(text))
	for _, r := range text {
		switch {
		case strings.ContainsRune(gsmDefault, r):
			units = append(units, 1)
		case strings.ContainsRune(gsmExtension, r):
			units = append(units, 2)
		default:
			return nil, false
		}
	}
	return units, true
}

// codeUnits is how many 16-bit units each character takes.
func codeUnits(text string) []int {
	units := make([]int, 0, len(text))
	for _, r := range text {
		units = append(units, max(1, utf16.RuneLen(r)))
	}
	return units
}

// fill puts characters into one part where they fit, else into as many as they need.
func fill(encoding Encoding, units []int) Size {
	size := Size{Encoding: encoding, PerPart: encoding.Room()}
	for _, n := range units {
		size.Units += n
	}
	if size.Units <= size.PerPart {
		size.Parts = min(1, size.Units)
		return size
	}
	size.PerPart, size.Parts = encoding.split(), 1
	used := 0
	for _, n := range units {
		if used+n > size.PerPart {
			size.Parts, used = size.Parts+1, 0
		}
		used += n
	}
	return size
}
