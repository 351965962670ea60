package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/table"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// fromLines reads an account a line. The problems of a line name it.
func fromLines(c *web.Call, text []byte) (in givenAccounts, err error) {
	for i, line := range bytes.Split(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !c.Room() || len(in.lines) > maxAccounts {
			break
		}
		at := fmt.Sprintf("line %d", i+1)
		a, problems, err := accountBody.Read(line)
		if err != nil {
			c.Refuse(at, "%s", err)
			continue
		}
		for _, p := range problems {
			c.Refuse(at+"."+p.Path, "%s", p.Message)
		}
		in.Accounts.Accounts, in.lines = append(in.Accounts.Accounts, a), append(in.lines, i+1)
	}
	return in, nil
}

// fromCSV reads accounts from a table.
func (a accounts) fromCSV(c *web.Call, text []byte) (in givenAccounts, err error) {
	fields, err := a.fields(c)
	if err == nil {
		in.Accounts.Accounts, in.lines = table.Accounts(c, fields, audience.Text(text), maxAccounts)
	}
	return in, err
}

// fields are those of the channel's driver, by name.
func (a accounts) fields(c *web.Call) (table.Fields, error) {
	ch, err := a.drivers.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil {
		return nil, err
	}
	fields := table.Fields{}
	for _, t := range a.drivers.Types() {
		if t.Name == ch.Driver {
			for _, f := range t.Fields {
				fields[f.Name] = f
			}
		}
	}
	return fields, nil
}

// export writes all accounts of a channel, as they are read.
func (a accounts) export(c *web.Call) (any, error) {
	format := formatOf(c)
	if err := c.Wrong(); err != nil {
		return nil, err
	}
	fields, err := a.fields(c)
	if err != nil {
		return nil, err
	}
	each := func(visit func(*posthouse.Account) error) error {
		for cursor := ""; ; {
			list, next, err := a.List(c.Context(), c.Tenant(), c.PathValue("name"), cursor, exportPart)
			for i := range list {
				if err == nil {
					err = visit(&list[i])
				}
			}
			if cursor = next; err != nil || cursor == "" {
				return err
			}
		}
	}
	if format != formatCSV {
		return web.Stream{Kind: "application/x-ndjson", Write: func(w io.Writer) error {
			lines := json.NewEncoder(w)
			return each(func(a *posthouse.Account) error {
				return lines.Encode(exportedAccount{a.Name, a.Config, a.AccountSettings})
			})
		}}, nil
	}
	columns, err := table.Columns(fields, each)
	if err != nil {
		return nil, err
	}
	return web.Stream{Kind: "text/csv; charset=utf-8", Write: func(w io.Writer) error { return table.WriteAccounts(w, columns, each) }}, nil
}

// exportedAccount is what of an account a PUT takes.
type exportedAccount struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config,omitempty"`
	posthouse.AccountSettings
}

func (a accounts) fileRoutes() []web.Route {
	body := accountsBody.OrCSV(a.fromCSV).OrLines(fromLines)
	return web.Tagged("accounts",
		web.Put("/v1/channels/{name}/accounts", admin, "Store accounts of a channel, all or none, from JSON, NDJSON or CSV. A masked secret stays as it was.", body, a.putAll).Takes(wire.Accounts{}).Query("dry_run").OfChannel("name"),
		web.Get("/v1/channels/{name}/accounts-export", reads, "All accounts of a channel as NDJSON or CSV, secrets masked: a PUT takes it back.", a.export).Query("format").OfChannel("name"),
	)
}

func (a accounts) putAll(c *web.Call, in givenAccounts) (wire.AccountsStored, error) {
	list := in.Accounts.Accounts
	dry := c.Query.Get("dry_run")
	if dry != "" && dry != "true" && dry != "false" {
		c.Refuse("query.dry_run", "is %.40q: want true or false", dry)
	}
	if n := len(list); (n == 0 || n > maxAccounts) && c.Wrong() == nil {
		c.Refuse("accounts", "has %d accounts: want 1 to %d", n, maxAccounts)
	}
	if c.Wrong() != nil { // what else is wrong with what could be read is said with it
		if n := len(list); n > 0 && n <= maxAccounts {
			_, _, err := a.Put(c.Context(), c.Tenant(), c.PathValue("name"), list, in.path, true)
			c.Add(web.ProblemsOf(err))
		}
		return wire.AccountsStored{}, c.Wrong()
	}
	stored, created, err := a.Put(c.Context(), c.Tenant(), c.PathValue("name"), list, in.path, dry == "true")
	if err != nil {
		return wire.AccountsStored{}, err
	}
	if dry == "true" {
		c.Unchanged()
	} else {
		c.Affected(len(stored))
	}
	return wire.AccountsStored{Stored: len(stored), Created: created, DryRun: dry == "true"}, nil
}

var accountsBody = web.BodyOf[givenAccounts](web.OneTo(maxAccounts, "accounts", "accounts"))

// maxAccounts bounds the accounts of one request, and of one channel.
const maxAccounts = 10_000
