package audience

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// Numbers as spreadsheets write them where a column is not formatted as text. The decimal comma is that of some of their languages.
var (
	// inPowers is any number with a power of ten.
	inPowers = regexp.MustCompile(`^\+?([0-9]+)(?:[.,]([0-9]+))?[eE]\+?([0-9]{1,3})$`)
	// asExcel is one as they write it, such as 1.38E+10. No provider's ids have a plus sign within, while 12E5 may be one.
	asExcel = regexp.MustCompile(`^[0-9](?:[.,][0-9]+)?E\+[0-9]{2,3}$`)
	// withZeros is a whole number of a telephone with decimals, such as 13800138000.0 of a column of floating point numbers.
	withZeros = regexp.MustCompile(`^(\+?[0-9]{7,15})[.]0{1,2}$`)
)

// mostDigits is how many digits of a number spreadsheets keep; behind them they write zeros.
const mostDigits = 15

// Whole is a cell in a column of addresses with a number as it was before a spreadsheet wrote it in its own way, or the error that digits of it
// are lost. In a column of telephones each such number is one, and in one of other addresses that the channel knows only what no address looks
// like. Where addresses are free texts and the column's name says nothing of telephones, a cell is left as it is: it may be meant so.
func (f Format) Whole(column, text string) (string, error) {
	if text == "" || !strings.ContainsAny(text, "eE.") || text[len(text)-1] < '0' || text[len(text)-1] > '9' { // of millions of addresses most are none
		return text, nil
	}
	phones := f.Addresses == channel.AddressPhone || slices.Contains(namesOf[channel.AddressPhone], plainName(column))
	if number := withZeros.FindStringSubmatch(text); phones && number != nil {
		return number[1], nil
	}
	if !phones && (f.Addresses == "" || !asExcel.MatchString(text)) {
		return text, nil
	}
	number, lost := ofPowers(text)
	if lost {
		return "", fmt.Errorf("is %.60s: a spreadsheet has cut off digits of the number. Format the column as text there, and export it again", text)
	}
	return number, nil
}

// ofPowers is a number with a power of ten in all its digits, and any other text as it is. lost says that some are cut off: those behind the
// ones that are written may have been anything.
func ofPowers(text string) (number string, lost bool) {
	parts := inPowers.FindStringSubmatch(text)
	if parts == nil {
		return text, false
	}
	power, err := strconv.Atoi(parts[3])
	if err != nil || power > len(parts[2]) || strings.Trim(parts[2][power:], "0") != "" || len(parts[1])+power > mostDigits {
		return "", true
	}
	return parts[1] + parts[2][:power], false
}

// CutOff reports whether a cell holds a number of which a spreadsheet has cut off digits, such as 1.38E+10.
func CutOff(cell string) bool {
	cell = strings.TrimSpace(cell)
	_, lost := ofPowers(cell)
	return lost && asExcel.MatchString(cell)
}
