package catalog

import (
	"strconv"
	"strings"
	"time"
)

// Lasting is a length of time as people read it: 17h19m or 17 小时 19 分, and not 17h19m14.87s. It has whole seconds, from an hour on whole
// minutes, and below a second whole milliseconds.
func Lasting(d time.Duration, chinese bool) string {
	if d < 0 {
		return "-" + Lasting(-d, chinese)
	}
	switch {
	case d >= time.Hour-time.Second/2:
		d = d.Round(time.Minute)
	case d >= time.Second:
		d = d.Round(time.Second)
	default:
		d = d.Round(time.Millisecond)
	}
	var words []string
	for _, unit := range []struct {
		of     time.Duration
		en, zh string
	}{{time.Hour, "h", " 小时"}, {time.Minute, "m", " 分"}, {time.Second, "s", " 秒"}, {time.Millisecond, "ms", " 毫秒"}} {
		n := int64(d / unit.of)
		if d %= unit.of; n == 0 {
			continue
		}
		word := strconv.FormatInt(n, 10)
		if chinese {
			word += unit.zh
		} else {
			word += unit.en
		}
		words = append(words, word)
	}
	switch {
	case len(words) == 0 && chinese:
		return "0 秒"
	case len(words) == 0:
		return "0s"
	case chinese:
		return strings.Join(words, " ")
	}
	return strings.Join(words, "")
}
