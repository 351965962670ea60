package config

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
)

// databases reads the databases that people are read from: NAME=DSN, with commas between. TENANT/NAME is a tenant's own; without a tenant
// it is the default one's. What follows a comma and is no NAME=DSN belongs to the DSN before, such as a second host.
func databases(to *map[string]string, v string) error {
	out, last := map[string]string{}, ""
	for part := range strings.SplitSeq(v, ",") {
		name, target, named := strings.Cut(strings.TrimSpace(part), "=")
		scheme, _, _ := strings.Cut(target, ":")
		if !named || strings.ContainsAny(name, ":?&") || scheme == target {
			if last == "" {
				return fmt.Errorf("is no list of NAME=DSN, such as crm=mysql://reader:…@db/crm")
			}
			out[last] += "," + part
			continue
		}
		if !strings.Contains(name, "/") {
			name = posthouse.DefaultTenant + "/" + name
		}
		if _, twice := out[name]; twice {
			return fmt.Errorf("names %.80q twice", name)
		}
		if tenant, short, _ := strings.Cut(name, "/"); tenant == "" || short == "" || strings.Contains(short, "/") {
			return fmt.Errorf("names a database %.80q: want NAME or TENANT/NAME", name)
		}
		out[name], last = target, name
	}
	for name, target := range out {
		var checked string
		if err := dsn(&checked, target); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(name, posthouse.DefaultTenant+"/"), err)
		}
		out[name] = checked
	}
	*to = out
	return nil
}
