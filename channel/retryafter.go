package channel

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a provider may ask for: a slip of theirs must not park us for years.
const maxRetryAfter = 24 * time.Hour

// ParseRetryAfter reads a Retry-After header: whole seconds, or an HTTP date (RFC 9110, 10.2.3).
// Rubbish, the past and a missing value are 0; more than a day is a day.
func ParseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
