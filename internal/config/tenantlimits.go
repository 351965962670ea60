package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// mostWindows bounds the windows of one tenant, as those of a channel.
const mostWindows = 4

// tenantLimits reads the windows of all that tenants send: TENANT=NUMBER/DURATION, with commas between; * is each tenant that is
// not named, and one that is named several times has several windows.
func tenantLimits(to *map[string][]posthouse.Limit, v string) error {
	out := map[string][]posthouse.Limit{}
	for part := range strings.SplitSeq(v, ",") {
		part = strings.TrimSpace(part)
		tenant, window, ok := strings.Cut(part, "=")
		if !ok || tenant == "" {
			return fmt.Errorf("%q is no window of a tenant such as acme=100/1s, *=20/1s or acme=unlimited", part)
		}
		list, named := out[tenant]
		if named && (len(list) == 0 || window == unlimited) {
			return fmt.Errorf("%q has windows and is %s", tenant, unlimited)
		}
		if window == unlimited {
			out[tenant] = []posthouse.Limit{}
			continue
		}
		w, err := windowOf(window)
		if err != nil {
			return err
		}
		for _, other := range list {
			if other.Per == w.Per {
				return fmt.Errorf("%q has two windows of %s", tenant, w.Per)
			}
		}
		if len(list) == mostWindows {
			return fmt.Errorf("%q has more than %d windows", tenant, mostWindows)
		}
		out[tenant] = append(list, w)
	}
	*to = out
	return nil
}

func windowOf(v string) (w posthouse.Limit, err error) {
	number, per, ok := strings.Cut(v, "/")
	w.Max, err = strconv.Atoi(number)
	if !ok || err != nil || w.Max < 1 || w.Max > mostAtOnce || w.Per.UnmarshalText([]byte(per)) != nil || w.Per <= 0 {
		return w, fmt.Errorf("%q is no window such as 100/1s or 5000/1h, nor %s", v, unlimited)
	}
	return w, nil
}
