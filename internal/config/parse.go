package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
)

// The parsers below read one text into one place. Their errors quote the text and say what
// is allowed; those for secrets do not quote.

func text(to *string, v string) error {
	*to = v
	return nil
}

// dsn looks at the scheme alone; the store reads the rest. A driver in the scheme, such as
// postgresql+asyncpg, is that of a Python program, and left out.
func dsn(to *string, v string) error {
	if scheme, rest, ok := strings.Cut(v, "://"); ok {
		scheme, driver, _ := strings.Cut(scheme, "+")
		v = scheme + "://" + rest
		if scheme == "sqlite" && (driver != "" || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/./")) {
			v = "sqlite:" + strings.TrimPrefix(rest, "/") // to such a program, what follows the third / is the path
		}
	}
	for _, scheme := range []string{"sqlite:", "postgres://", "postgresql://", "mysql://"} {
		if rest, ok := strings.CutPrefix(v, scheme); ok && rest != "" {
			return text(to, v)
		}
	}
	return fmt.Errorf("this is not a database; sqlite:PATH, postgres://… and mysql://… are allowed")
}

func hostPort(to *string, v string) error {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080 or :8080", v)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q has no port from 0 to 65535", v)
	}
	return text(to, v)
}

// address does not quote: an address can hold a password.
func address(to *string, v string, schemes ...string) error {
	u, err := url.Parse(v)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" && u.Path == "" {
		return fmt.Errorf("this is not a URL that begins with %s://", strings.Join(schemes, ":// or "))
	}
	return text(to, v)
}

func host(to *string, v string) error {
	if strings.ContainsAny(v, " /") || strings.HasPrefix(v, "[") {
		return fmt.Errorf("%q is not a host such as 127.0.0.1, 0.0.0.0 or ::1", v)
	}
	return text(to, v)
}

func port(to *string, v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is not a port from 0 to 65535", v)
	}
	return text(to, v)
}

// retries reads a number; none is what server.SMS calls a negative one.
func retries(to *int, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 99 {
		return fmt.Errorf("%q is not a whole number from 0 to 99", v)
	}
	if *to = n; n == 0 {
		*to = -1
	}
	return nil
}

// debug takes what is no truth for none: other programs give a variable DEBUG other meanings.
func debug(to *slog.Level, v string) error {
	if slices.Contains([]string{"true", "1", "yes", "on"}, strings.ToLower(v)) {
		*to = slog.LevelDebug
	}
	return nil
}

func networks(to *[]netip.Prefix, v string) error {
	var out []netip.Prefix
	for part := range strings.SplitSeq(v, ",") {
		prefix, err := network(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		out = append(out, prefix)
	}
	*to = out
	return nil
}

func network(v string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(v); err == nil {
		return p.Masked(), nil
	}
	if a, err := netip.ParseAddr(v); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.Prefix{}, fmt.Errorf("%q is not a network such as 10.0.0.0/8 or an address", v)
}

func boolean(to *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q is not true or false", v)
	}
	*to = b
	return nil
}

func zone(to *string, v string) error {
	if _, err := time.LoadLocation(v); err != nil || v == "Local" {
		return fmt.Errorf("%q is not an IANA time zone such as Asia/Shanghai or UTC", v)
	}
	return text(to, v)
}

func duration(to *time.Duration, v string) error {
	var d posthouse.Duration
	if err := d.UnmarshalText([]byte(v)); err != nil {
		return err
	}
	if d <= 0 {
		return fmt.Errorf("%q is not above zero", v)
	}
	*to = d.Std()
	return nil
}

func keep(to *time.Duration, v string) error {
	if v == "forever" {
		*to = -1
		return nil
	}
	return duration(to, v)
}

// units are the suffixes of a size, longest first.
var units = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}}

func size(to *int64, v string) error {
	for _, unit := range units {
		digits, ok := strings.CutSuffix(v, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
		if err != nil || n <= 0 {
			break
		}
		*to = n * unit.bytes
		return nil
	}
	return fmt.Errorf("%q is not a size such as 1048576, 512KiB or 4MiB", v)
}

func level(to *slog.Level, v string) error {
	switch strings.ToLower(v) {
	case "debug", "info", "warn", "error":
		return to.UnmarshalText([]byte(v))
	}
	return fmt.Errorf("%q is not a level; debug, info, warn and error are allowed", v)
}

func choice(to *string, v string, allowed ...string) error {
	if !slices.Contains(allowed, v) {
		return fmt.Errorf("%q is not allowed; %s are", v, strings.Join(allowed, " and "))
	}
	return text(to, v)
}

func hostPortOrOff(to *string, v string) error {
	if v == server.MetricsOff || v == server.MetricsOpen {
		return text(to, v)
	}
	return hostPort(to, v)
}

func count(to *int, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number above zero", v)
	}
	*to = n
	return nil
}

// words reads texts with commas between.
func words(to *[]string, v string) error {
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*to = append(*to, part)
		}
	}
	return nil
}

// frontHosts reads HOST=KIND, with commas between.
func frontHosts(to *map[string]string, v string) error {
	out := map[string]string{}
	for part := range strings.SplitSeq(v, ",") {
		host, kind, named := strings.Cut(strings.TrimSpace(part), "=")
		host, kind = strings.ToLower(strings.TrimSpace(host)), strings.TrimSpace(kind)
		if !named || host == "" || kind == "" {
			return fmt.Errorf("%.80q is no HOST=KIND, such as push.example.com=gotify", part)
		}
		if _, twice := out[host]; twice {
			return fmt.Errorf("names the host %.80q twice: the paths of two kinds would overlap, give each a host of its own", host)
		}
		out[host] = kind
	}
	*to = out
	return nil
}

func moment(into *time.Time, v string) (err error) {
	if *into, err = time.Parse(time.RFC3339Nano, v); err != nil {
		return fmt.Errorf("is %.60q: want the time that the refused start named, such as 2026-11-23T08:00:00.000000Z", v)
	}
	return nil
}
