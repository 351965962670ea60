package campaign

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Databases are those of other programs that people are read from.
type Databases interface {
	// Query reads what a query gives from a tenant's database, in a transaction that may only read: the names of the columns, and then one
	// row after the other, a nil for NULL.
	Query(ctx context.Context, tenant, database, query string, columns func([]string) error, row func([]*string) error) error
}

// Fetcher imports people from where others keep them. Like the import of a file it goes on where it was when it is asked for again.
type Fetcher struct {
	Desk      *Desk
	Databases Databases
}

// Query imports what a query gives into a campaign's own audience.
func (f Fetcher) Query(ctx context.Context, tenant, name string, in wire.PeopleQuery) (posthouse.Audience, error) {
	return f.query(ctx, tenant, in, f.ofCampaign(tenant, name))
}

// QueryList imports what a query gives into a stored list.
func (f Fetcher) QueryList(ctx context.Context, tenant, name string, in wire.PeopleQuery) (posthouse.Audience, error) {
	return f.query(ctx, tenant, in, f.ofList(tenant, name))
}

// Followers imports everybody who follows the channel's account into a campaign's own audience.
func (f Fetcher) Followers(ctx context.Context, tenant, name string, in wire.PeopleFollowing) (posthouse.Audience, error) {
	return f.followers(ctx, in, f.ofCampaign(tenant, name))
}

// FollowersList imports everybody who follows the channel's account into a stored list of that channel.
func (f Fetcher) FollowersList(ctx context.Context, tenant, name string, in wire.PeopleFollowing) (posthouse.Audience, error) {
	return f.followers(ctx, in, f.ofList(tenant, name))
}

// target is whom people are imported for.
type target struct {
	audience func(ctx context.Context) (work.Audience, error)
	take     func(ctx context.Context, p Part, body io.Reader) (posthouse.Audience, error)
}

func (f Fetcher) ofCampaign(tenant, name string) target {
	return target{
		audience: func(ctx context.Context) (work.Audience, error) {
			c, err := f.Desk.named(ctx, tenant, name)
			if err != nil {
				return work.Audience{}, err
			}
			return f.Desk.audienceOf(ctx, &c)
		},
		take: func(ctx context.Context, p Part, body io.Reader) (posthouse.Audience, error) {
			return f.Desk.Import(ctx, tenant, name, p, body)
		},
	}
}

func (f Fetcher) ofList(tenant, name string) target {
	return target{
		audience: func(ctx context.Context) (work.Audience, error) { return f.Desk.list(ctx, tenant, name) },
		take: func(ctx context.Context, p Part, body io.Reader) (posthouse.Audience, error) {
			return f.Desk.ImportList(ctx, tenant, name, p, body)
		},
	}
}

// stream imports what write writes. Where that fails, its error is returned.
func stream(ctx context.Context, to target, p Part, write func(ctx context.Context, w *bufio.Writer) error) (posthouse.Audience, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out, in := io.Pipe()
	var wrote error
	ended := make(chan struct{})
	go func() {
		w := bufio.NewWriterSize(in, 64<<10)
		err := write(ctx, w)
		wrote = cmp.Or(err, w.Flush())
		close(ended)
		in.CloseWithError(wrote)
	}()
	p.Final = true
	a, err := to.take(ctx, p, out)
	select {
	case <-ended: // before the import, which tells less
		return a, cmp.Or(wrote, err)
	default:
	}
	stop()
	out.CloseWithError(errLeft)
	<-ended
	return a, err
}

// errLeft says that an import ended before all was written.
var errLeft = errors.New("the import has ended")

// query imports the rows of a query as lines of JSON. A query that is made once more passes what is stored already.
func (f Fetcher) query(ctx context.Context, tenant string, in wire.PeopleQuery, to target) (posthouse.Audience, error) {
	if err := f.check(in); err != nil {
		return posthouse.Audience{}, err
	}
	if _, err := to.audience(ctx); err != nil { // before the database is asked anything, and instead of what it says
		return posthouse.Audience{}, err
	}
	p := Part{Format: audience.Format{Kind: audience.NDJSON, Address: in.Address}}
	a, err := stream(ctx, to, p, func(ctx context.Context, w *bufio.Writer) error { return f.rows(ctx, tenant, in, w) })
	if err == error(errOther) { //nolint:errorlint // a shorter one says by how much
		err = errOtherRows
	}
	return a, err
}

// check says what a query lacks.
func (f Fetcher) check(in wire.PeopleQuery) error {
	var problems []posthouse.Problem
	for _, field := range []struct{ path, value string }{{"database", in.Database}, {"query", strings.TrimSpace(in.Query)}} {
		if field.value == "" {
			problems = append(problems, posthouse.Problem{Path: field.path, Message: "is required"})
		}
	}
	return posthouse.Invalid("nobody can be read", problems)
}

// columns makes a query whose columns are checked.
func (f Fetcher) columns(ctx context.Context, tenant string, in wire.PeopleQuery, columns func([]string) error, row func([]*string) error) error {
	return f.Databases.Query(ctx, tenant, in.Database, in.Query, func(names []string) error {
		if _, err := audience.CheckColumns(names, audience.Format{Address: in.Address}); err != nil {
			return posthouse.Invalid("nobody is imported", []posthouse.Problem{{Path: "query", Message: err.Error()}})
		}
		return columns(names)
	}, row)
}

// errOtherRows says that a query which is made once more does not begin as it did.
var errOtherRows = func() error {
	err := posthouse.Errorf(posthouse.CodeConflict, "the query gives other people than before: order it, so that it gives the same in each run")
	err.Cause = errOther
	return err
}()

// errNoRows says that a query gives nobody.
var errNoRows = posthouse.Invalid("nobody is imported", []posthouse.Problem{{Path: "query", Message: "gives no rows"}})

// rows writes the rows of a query as lines of JSON, whose values are texts as those of a CSV.
func (f Fetcher) rows(ctx context.Context, tenant string, in wire.PeopleQuery, w *bufio.Writer) error {
	var keys []string
	some := false
	err := f.columns(ctx, tenant, in, func(names []string) error {
		for _, name := range names {
			keys = append(keys, string(audience.AppendString(nil, name))+":")
		}
		return nil
	}, func(values []*string) error {
		some = true
		line := append(w.AvailableBuffer(), '{')
		for i, v := range values {
			if i > 0 {
				line = append(line, ',')
			}
			if line = append(line, keys[i]...); v == nil {
				line = append(line, "null"...)
			} else {
				line = audience.AppendString(line, *v)
			}
		}
		_, err := w.Write(append(line, "}\n"...))
		return err
	})
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeInvalid:
		return err
	case err != nil:
		return posthouse.Invalid("the query does not give all people; what it gave is stored, and the same query goes on", []posthouse.Problem{{Path: "query", Message: err.Error()}})
	case !some:
		return errNoRows
	}
	return nil
}

// followers imports the addresses that a channel's provider lists. It goes on behind the last one that is stored.
func (f Fetcher) followers(ctx context.Context, in wire.PeopleFollowing, to target) (posthouse.Audience, error) {
	a, err := to.audience(ctx)
	if err != nil {
		return a.Audience, err
	}
	lister, err := f.lister(&a, in.Account)
	if err != nil {
		return a.Audience, err
	}
	p := Part{Format: audience.Format{Kind: audience.CSV, Columns: []string{"address"}, Address: "address"}, Offset: a.Offset}
	behind := ""
	if a.Last > 0 && a.State == posthouse.AudienceOpen {
		last, _, err := f.Desk.o.Importer.Member(ctx, a, a.Last)
		if err != nil {
			return a.Audience, err
		}
		behind = last.Address
	}
	return stream(ctx, to, p, func(ctx context.Context, w *bufio.Writer) error { return listed(ctx, lister, behind, a.Last == 0, w) })
}

// listed writes the addresses behind one, each on a line. wanted says that there must be some.
func listed(ctx context.Context, from channel.Lister, behind string, wanted bool, w *bufio.Writer) error {
	for more := true; more; {
		var page []string
		var err error
		if page, more, err = from.List(ctx, behind); err != nil {
			return posthouse.Errorf(posthouse.CodeUnavailable, "%w. Whom it listed before is stored, and the import goes on when it is asked for again", err)
		}
		for _, address := range page {
			if _, err := w.WriteString(strings.NewReplacer("\n", " ", "\r", " ").Replace(address) + "\n"); err != nil {
				return err
			}
		}
		switch {
		case len(page) > 0 && page[len(page)-1] != behind:
			behind, wanted = page[len(page)-1], false
		case more:
			return posthouse.Errorf(posthouse.CodeUnavailable, "the provider says that more follow %.80q, and lists nobody", behind)
		}
	}
	if wanted {
		return posthouse.Errorf(posthouse.CodeConflict, "nobody follows the account: nobody is imported")
	}
	return nil
}

// lister is the driver that knows the followers of an audience's channel.
func (f Fetcher) lister(a *work.Audience, account string) (channel.Lister, error) {
	refuse := func(path, format string, args ...any) error {
		return posthouse.Invalid("nobody can be read", []posthouse.Problem{{Path: path, Message: fmt.Sprintf(format, args...)}})
	}
	if a.Channel == "" {
		return nil, posthouse.Errorf(posthouse.CodeConflict, "the list is of no channel: make one with the channel whose followers it is to have")
	}
	ch := f.Desk.o.Channel(a.Tenant, a.Channel)
	if ch == nil {
		return nil, posthouse.Errorf(posthouse.CodeConflict, "the channel %s is not open", a.Channel)
	}
	names := accountsOf(ch)
	switch {
	case account == "" && len(names) > 1:
		return nil, refuse("account", "is required: the channel %s has %s", a.Channel, strings.Join(names, ", "))
	case account == "" && len(names) == 1:
		account = names[0]
	case account != "" && !slices.Contains(names, account):
		return nil, refuse("account", "there is no account %.80q of the channel %s", account, a.Channel)
	}
	from, knows := ch.Opened.By(account).(channel.Lister)
	if !knows {
		return nil, posthouse.Errorf(posthouse.CodeConflict, "the channel %s does not know who can be sent to: its driver lists nobody", a.Channel)
	}
	return from, nil
}

func accountsOf(ch *state.Channel) (names []string) {
	for _, a := range ch.Opened.Accounts {
		names = append(names, a.Name)
	}
	return names
}
