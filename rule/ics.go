package rule

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// WriteICS writes days of a roster as an iCalendar (RFC 5545) that calendars subscribe to: an event for each day on which
// somebody is on duty. Days that begin at midnight are whole days, others have their times in UTC.
func WriteICS(w io.Writer, roster posthouse.Roster, days []Day) error {
	out := icsWriter{w: bufio.NewWriter(w)}
	out.line("BEGIN:VCALENDAR")
	out.line("VERSION:2.0")
	out.line("PRODID:-//Posthouse//Roster//EN")
	out.line("METHOD:PUBLISH")
	out.line("X-WR-CALNAME:" + icsText(roster.Name))
	out.line("REFRESH-INTERVAL;VALUE=DURATION:PT1H")
	out.line("X-PUBLISHED-TTL:PT1H")
	for _, day := range days {
		if len(day.Users) > 0 {
			out.event(roster, day)
		}
	}
	out.line("END:VCALENDAR")
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("write the roster as a calendar: %w", err)
	}
	return nil
}

// icsWriter writes lines; the buffer keeps the first error.
type icsWriter struct{ w *bufio.Writer }

const icsTime = "20060102T150405Z"

func (o icsWriter) event(roster posthouse.Roster, day Day) {
	o.line("BEGIN:VEVENT")
	o.line("UID:" + day.Date + "-" + icsText(roster.Name) + "@posthouse")
	o.line("DTSTAMP:" + roster.UpdatedAt.UTC().Format(icsTime))
	if roster.HandOver == "" || roster.HandOver == "00:00" {
		date, _ := time.Parse(time.DateOnly, day.Date) // Days wrote it
		o.line("DTSTART;VALUE=DATE:" + date.Format("20060102"))
		o.line("DTEND;VALUE=DATE:" + date.AddDate(0, 0, 1).Format("20060102"))
	} else {
		o.line("DTSTART:" + day.From.UTC().Format(icsTime))
		o.line("DTEND:" + day.Until.UTC().Format(icsTime))
	}
	o.line("SUMMARY:" + icsText(roster.Name+": "+strings.Join(day.Users, ", ")))
	o.line("TRANSP:TRANSPARENT")
	o.line("END:VEVENT")
}

// maxICSLine is how many bytes a line may have before it is folded (RFC 5545, 3.1).
const maxICSLine = 75

// line writes a line, folded between characters where it is long.
func (o icsWriter) line(text string) {
	room := maxICSLine
	for len(text) > room {
		cut := room
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		_, _ = o.w.WriteString(text[:cut] + "\r\n ")
		text, room = text[cut:], maxICSLine-1
	}
	_, _ = o.w.WriteString(text + "\r\n")
}

// icsText escapes a text (RFC 5545, 3.3.11). Users and names hold no control characters.
func icsText(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r", "", "\n", `\n`).Replace(text)
}
