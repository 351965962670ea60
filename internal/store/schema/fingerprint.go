package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// A version's number says what was begun, not what is there: a restore that ended halfway has it too, and so has a database that an
// unreleased build made. So beside each migration lies what the catalogue of a database says after it, and a database is compared
// with that. The files are made by `go test ./internal/store/schema -update`.

// Drift is how a database differs from what its version makes.
type Drift struct {
	Version int64
	// Missing is what the program needs and does not find, or finds otherwise.
	Missing []string
	// Besides is what stands on our tables and is not ours, such as an index that somebody has added.
	Besides []string
}

// CatalogueFile is the file of a dialect's folder with what the catalogue says after a version.
func CatalogueFile(version int64) string { return fmt.Sprintf("%04d_catalogue.txt", version) }

// A catalogue that lacks something is read again: MariaDB's leaves a table's keys out while another process divides it.
const (
	looks     = 3
	lookAgain = 300 * time.Millisecond
)

// Drift compares the database with its version's catalogue. A version that has none recorded has no drift. Of a newer version that works
// with this binary's, this binary's tables, keys and columns must be there.
func (s Schema) Drift(ctx context.Context) (d Drift, err error) {
	for range looks {
		if d, err = s.drift(ctx); err != nil || len(d.Missing) == 0 {
			break
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
	return d, err
}

func (s Schema) drift(ctx context.Context) (Drift, error) {
	have, wants, err := s.Schema(ctx)
	if err != nil {
		return Drift{}, err
	}
	d := Drift{Version: have}
	files, err := FilesOf(s.db.Dialect)
	if err != nil {
		return d, err
	}
	text, err := fs.ReadFile(files, CatalogueFile(min(have, wants)))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	there, err := s.db.Catalogue(ctx)
	if err != nil {
		return d, err
	}
	want := readCatalogue(string(text))
	if have > wants {
		want = slices.DeleteFunc(want, func(p sqldb.Part) bool { return p.Kind != "table" && p.Kind != "key" && p.Kind != "column" })
	}
	if d.compare(want, there); have > wants {
		d.Besides = nil
	}
	return d, nil
}

// Err refuses a database that lacks something, and says the ways out.
func (d Drift) Err() error {
	if len(d.Missing) == 0 {
		return nil
	}
	const most = 8
	named, more := d.Missing, ""
	if len(named) > most {
		named, more = named[:most], fmt.Sprintf("; and %d more, which posthouse doctor lists", len(named)-most)
	}
	return fmt.Errorf("the database says that its schema has version %d, but it is not whole: %s%s. If a restore ended halfway, restore all of the backup into an empty database "+
		"(PostgreSQL: psql -1 -v ON_ERROR_STOP=1 -f FILE); if a build before the first release made it, no other build can go on with it: begin with an empty database",
		d.Version, strings.Join(named, "; "), more)
}

// RefuseDrift is an error where the database is not what its version says. What stands there besides is logged.
func (s Schema) RefuseDrift(ctx context.Context) error {
	d, err := s.Drift(ctx)
	if err != nil {
		return err
	}
	if len(d.Besides) > 0 {
		s.db.Log.Warn("something that Posthouse has not made stands on its tables: it may slow writes down", "found", strings.Join(d.Besides, "; "))
	}
	return d.Err()
}

// WriteCatalogue is what CatalogueFile holds of a database: a line a part, in order.
func WriteCatalogue(parts []sqldb.Part) string {
	lines := make([]string, len(parts))
	for i, p := range parts {
		lines[i] = strings.Join([]string{p.Kind, p.Of, p.Name, p.Definition}, "\t") + "\n"
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func readCatalogue(text string) (parts []sqldb.Part) {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		parts = append(parts, sqldb.Part{Kind: fields[0], Of: fields[1], Name: fields[2], Definition: fields[3]})
	}
	return parts
}

// place is what a part is known by.
func place(p sqldb.Part) sqldb.Part {
	p.Definition = ""
	return p
}

func (d *Drift) compare(want, have []sqldb.Part) {
	found, known := map[sqldb.Part]string{}, map[sqldb.Part]bool{}
	for _, p := range have {
		found[place(p)] = p.Definition
	}
	stands := func(name string) bool {
		_, table := found[sqldb.Part{Kind: "table", Name: name}]
		_, view := found[sqldb.Part{Kind: "view", Name: name}]
		return table || view
	}
	want = slices.Clone(want)
	slices.SortStableFunc(want, func(a, b sqldb.Part) int {
		return cmp.Compare(slices.Index(weight, a.Kind), slices.Index(weight, b.Kind))
	})
	for _, p := range want {
		known[place(p)] = true
		definition, there := found[place(p)]
		switch {
		case p.Of != "" && !stands(p.Of): // the table itself is named
		case !there:
			d.Missing = append(d.Missing, "no "+titleOf(p))
		case definition != p.Definition:
			d.Missing = append(d.Missing, fmt.Sprintf("%s is %s instead of %s", titleOf(p), quoted(definition), quoted(p.Definition)))
		}
	}
	for _, p := range have {
		switch {
		case known[place(p)] || p.Of != "" && !known[sqldb.Part{Kind: "table", Name: p.Of}] && !known[sqldb.Part{Kind: "view", Name: p.Of}]:
		case p.Kind == "column" && demands(p.Definition):
			d.Missing = append(d.Missing, titleOf(p)+" wants a value that this binary does not give it")
		default:
			d.Besides = append(d.Besides, titleOf(p))
		}
	}
	slices.Sort(d.Besides)
}

// weight is in which order what is missing is named: the first few say how much of a restore there is.
var weight = []string{"table", "key", "view", "index", "column"}

// demands reports whether a row cannot be inserted without a value for a column.
func demands(definition string) bool {
	return strings.Contains(definition, "not null") &&
		!slices.ContainsFunc([]string{"default", "identity", "auto_increment"}, func(given string) bool { return strings.HasSuffix(definition, given) })
}

func titleOf(p sqldb.Part) string {
	switch {
	case p.Of == "":
		return p.Kind + " " + p.Name
	case p.Name == "":
		return "primary " + p.Kind + " of " + p.Of
	case p.Kind == "column":
		return "column " + p.Of + "." + p.Name
	}
	return p.Kind + " " + p.Name + " on " + p.Of
}

// quoted is a definition in a message; the text of a view is too long for one.
func quoted(definition string) string {
	switch {
	case len(definition) > 120:
		return "another text"
	case definition == "":
		return "a plain one"
	}
	return "`" + definition + "`"
}
