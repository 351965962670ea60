package catalog

import (
	"strconv"
	"strings"
	"time"
)

// unit is one of those that lengths of time are said in.
type unit struct {
	of     time.Duration
	en, zh string
	each   [2]string // one of it, as what something happens within
}

const day = 24 * time.Hour

// units are the longest first. Days are said of what is about so long, and of windows.
func units() []unit {
	return []unit{
		{day, "d", "天", [2]string{"a day", "天"}}, {time.Hour, "h", "小时", [2]string{"an hour", "小时"}}, {time.Minute, "m", "分钟", [2]string{"a minute", "分钟"}},
		{time.Second, "s", "秒", [2]string{"a second", "秒"}}, {time.Millisecond, "ms", "毫秒", [2]string{"a millisecond", "毫秒"}},
	}
}

// say is so many of a unit.
func (u unit) say(n int64, chinese bool) string {
	if chinese {
		return strconv.FormatInt(n, 10) + " " + u.zh
	}
	return strconv.FormatInt(n, 10) + u.en
}

// Lasting is a length of time as people read it: 17h19m or 17 小时 19 分钟, and not 17h19m14.87s. It has whole seconds, from an hour on whole
// minutes, from two days on days and whole hours, and below a second whole milliseconds.
func Lasting(d time.Duration, chinese bool) string {
	if d < 0 {
		return "-" + Lasting(-d, chinese)
	}
	list := units()[1:]
	switch {
	case d >= 2*day-time.Minute/2:
		d, list = d.Round(time.Hour), units()
	case d >= time.Hour-time.Second/2:
		d = d.Round(time.Minute)
	case d >= time.Second:
		d = d.Round(time.Second)
	default:
		d = d.Round(time.Millisecond)
	}
	var words []string
	for _, u := range list {
		n := int64(d / u.of)
		if d %= u.of; n > 0 {
			words = append(words, u.say(n, chinese))
		}
	}
	switch {
	case len(words) == 0:
		return none(chinese)
	case chinese:
		return strings.Join(words, " ")
	}
	return strings.Join(words, "")
}

// none is no time at all.
func none(chinese bool) string { return units()[3].say(0, chinese) }

// About is how long something is by its longest unit alone, as of what was some time ago: 3h or 3 小时. Of less than two days it has hours, and
// never less than seconds.
func About(d time.Duration, chinese bool) string {
	list := units()[:4]
	if d < 2*day {
		list = list[1:]
	}
	for _, u := range list {
		if n := int64(d / u.of); n > 0 {
			return u.say(n, chinese)
		}
	}
	return none(chinese)
}

// Roughly is how long something that is estimated takes, with a tenth or so to spare: 5h or 5 小时, and not 4h59m. It is rounded, while About
// cuts: who plans by it is not told an hour too little.
func Roughly(d time.Duration, chinese bool) string {
	switch {
	case d < 2*time.Minute:
		return Lasting(d, chinese)
	case d < time.Hour-30*time.Second:
		return Lasting(d.Round(time.Minute), chinese)
	case d < 10*time.Hour:
		return Lasting(d.Round(10*time.Minute), chinese)
	case d < 2*day-30*time.Minute:
		return Lasting(d.Round(time.Hour), chinese)
	}
	return About(d.Round(day), chinese)
}

// Window is how many something may be within a time: 9,000 a minute or 9,000 / 分钟; 20 in 10m or 20 / 10 分钟.
func Window(most int, per time.Duration, chinese bool) string {
	for _, u := range units() {
		switch {
		case u.of == per && chinese:
			return Number(most) + " / " + u.each[1]
		case u.of == per:
			return Number(most) + " " + u.each[0]
		}
	}
	long := Lasting(per, chinese)
	if per > 0 && per%day == 0 {
		long = units()[0].say(int64(per/day), chinese)
	}
	if chinese {
		return Number(most) + " / " + long
	}
	return Number(most) + " in " + long
}

// Number is a number as people read it, its digits in groups of three.
func Number(n int) string {
	text := strconv.Itoa(n)
	sign := strings.TrimRight(text, "0123456789")
	digits := text[len(sign):]
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, groups...), ",")
}
