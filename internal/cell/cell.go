// Package cell keeps spreadsheets from calculating what others wrote into a CSV.
//
// It neither reads nor writes CSV: that is encoding/csv, and whoever knows the columns.
package cell

import "strings"

// Guard is a cell that no spreadsheet takes for a formula: an apostrophe makes it text.
func Guard(cell string) string {
	if formula(cell) || strings.HasPrefix(cell, "'") && formula(strings.TrimLeft(cell, "'")) {
		return "'" + cell
	}
	return cell
}

// Bare is the cell that Guard was given.
func Bare(cell string) string {
	if strings.HasPrefix(cell, "'") && formula(strings.TrimLeft(cell, "'")) {
		return cell[1:]
	}
	return cell
}

// formula reports whether spreadsheets calculate a cell; some also read the wide forms of the signs.
func formula(cell string) bool {
	return strings.IndexAny(cell, "=+-@\t\r＝＋－＠") == 0
}
