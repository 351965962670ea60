package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/foreign"
)

// databases are those of other programs that people are read from, by tenant and name.
type databases struct {
	dsn  map[string]string // by TENANT/NAME
	zone *time.Location
}

// Query reads what a query gives from a tenant's database.
func (d databases) Query(ctx context.Context, tenant, name, query string, columns func([]string) error, row func([]*string) error) error {
	dsn, known := d.dsn[tenant+"/"+name]
	if !known {
		return posthouse.Invalid("nobody can be read", []posthouse.Problem{{Path: "database", Message: fmt.Sprintf("there is no database %.80q: the server's setting databases names %s", name, d.named(tenant))}})
	}
	return foreign.Query(ctx, dsn, d.zone, query, columns, row)
}

// named are the databases of a tenant, for a person.
func (d databases) named(tenant string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(d.dsn)) {
		if of, short, _ := strings.Cut(name, "/"); of == tenant {
			names = append(names, short)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
