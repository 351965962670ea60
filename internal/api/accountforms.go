package api

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/cell"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// The columns of accounts as CSV. What is an account's of the driver's fields follows as config.<field>, and as
// config.<field>.<name> where the field holds names.
const (
	accountsHeader = "name,pools,weight,base_rate,limits"
	configColumn   = "config."
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
	if err != nil {
		return in, err
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil || !checkHeader(c, header) {
		if err != nil {
			c.Refuse("line 1", "cannot be read: want a header such as %s,config.secret", accountsHeader)
		}
		return in, nil
	}
	for c.Room() && len(in.lines) <= maxAccounts {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			c.Refuse(fmt.Sprintf("line %d", wrong.Line), "%v", wrong.Err)
			continue
		}
		line, _ := r.FieldPos(0)
		reader := accountRow{call: c, at: fmt.Sprintf("line %d", line), fields: fields}
		in.Accounts.Accounts, in.lines = append(in.Accounts.Accounts, reader.account(header, row)), append(in.lines, line)
	}
	return in, nil
}

// fields are those of the channel's driver, by name.
func (a accounts) fields(c *web.Call) (map[string]channel.Field, error) {
	ch, err := a.drivers.Get(c.Context(), c.Tenant(), c.PathValue("name"))
	if err != nil {
		return nil, err
	}
	fields := map[string]channel.Field{}
	for _, t := range a.drivers.Types() {
		if t.Name == ch.Driver {
			for _, f := range t.Fields {
				fields[f.Name] = f
			}
		}
	}
	return fields, nil
}

func checkHeader(c *web.Call, header []string) bool {
	known := strings.Split(accountsHeader, ",")
	seen := map[string]bool{}
	for _, column := range header {
		if !slices.Contains(known, column) && !strings.HasPrefix(column, configColumn) {
			c.Refuse("line 1", "has a column %.80q: want %s, and config.<field> for the driver's", column, strings.Join(known, ", "))
		}
		if seen[column] {
			c.Refuse("line 1", "has the column %.80q twice", column)
		}
		seen[column] = true
	}
	if !seen["name"] {
		c.Refuse("line 1", "has no column name: want a header such as %s,config.secret", accountsHeader)
	}
	return c.Wrong() == nil
}

// accountRow reads a line of a table.
type accountRow struct {
	call   *web.Call
	at     string
	fields map[string]channel.Field
}

func (r accountRow) account(header, row []string) (a posthouse.Account) {
	for i, column := range header {
		if i >= len(row) || row[i] == "" {
			continue
		}
		text := cell.Bare(row[i])
		var err error
		switch column {
		case "name":
			a.Name = text
		case "pools":
			a.Pools = splitRoles(text)
		case "weight":
			a.Weight, err = strconv.Atoi(text)
		case "base_rate":
			a.BaseRate, err = strconv.ParseFloat(text, 64)
		case "limits":
			a.Limits, err = readWindows(text)
		default:
			r.config(&a, strings.TrimPrefix(column, configColumn), text)
		}
		if err != nil {
			r.call.Refuse(r.at+"."+column, "is %.80q: want %s", text, accountCells[column])
		}
	}
	return a
}

// accountCells say what a cell holds.
var accountCells = map[string]string{
	"weight": "a whole number", "base_rate": "a number of messages a second", "limits": "windows such as 20/1s;1000/1m",
}

// config puts a cell into the driver's configuration, as the kind of its field wants it. What it cannot be stays a text:
// the driver says what is wrong with it.
func (r accountRow) config(a *posthouse.Account, path, text string) {
	if a.Config == nil {
		a.Config = map[string]any{}
	}
	name, inner, nested := strings.Cut(path, ".")
	if nested {
		of, _ := a.Config[name].(map[string]any)
		if of == nil {
			of = map[string]any{}
		}
		of[inner] = text
		a.Config[name] = of
		return
	}
	a.Config[name] = text
	switch r.fields[name].Kind {
	case channel.KindInt:
		if n, err := strconv.Atoi(text); err == nil {
			a.Config[name] = n
		}
	case channel.KindBool:
		if b, err := strconv.ParseBool(text); err == nil {
			a.Config[name] = b
		}
	case channel.KindList:
		a.Config[name] = splitRoles(text)
	}
}

// readWindows reads limits such as 20/1s;1000/1m.
func readWindows(text string) ([]posthouse.Limit, error) {
	var list []posthouse.Limit
	for _, part := range splitRoles(text) {
		most, per, _ := strings.Cut(part, "/")
		n, err := strconv.Atoi(most)
		var d posthouse.Duration
		if err == nil {
			err = d.UnmarshalText([]byte(per))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, posthouse.Limit{Max: n, Per: d})
	}
	return list, nil
}

func writeWindows(list []posthouse.Limit) string {
	parts := make([]string, len(list))
	for i, l := range list {
		parts[i] = fmt.Sprintf("%d/%s", l.Max, l.Per)
	}
	return strings.Join(parts, ";")
}

// export writes all accounts of a channel, as they are read.
func (a accounts) export(c *web.Call) (any, error) {
	format := c.Query.Get("format")
	if format != "" && format != formatNDJSON && format != formatCSV {
		c.Refuse("query.format", "is %.60q: want ndjson or csv", format)
	}
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
	columns, err := configColumns(fields, each)
	if err != nil {
		return nil, err
	}
	return web.Stream{Kind: "text/csv; charset=utf-8", Write: func(w io.Writer) error { return writeAccounts(w, columns, each) }}, nil
}

// exportedAccount is what of an account a PUT takes.
type exportedAccount struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config,omitempty"`
	posthouse.AccountSettings
}

// configColumns are the columns of the driver's fields that any account has.
func configColumns(fields map[string]channel.Field, each func(func(*posthouse.Account) error) error) ([]string, error) {
	seen := map[string]bool{}
	for name, f := range fields {
		if f.Account && f.Required {
			seen[name] = true
		}
	}
	err := each(func(a *posthouse.Account) error {
		for name := range flat(a.Config) {
			seen[name] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(seen)), err
}

// flat is a configuration as cells by column.
func flat(config map[string]any) map[string]string {
	out := map[string]string{}
	for name, v := range config {
		switch v := v.(type) {
		case map[string]any:
			for inner, v := range v {
				out[name+"."+inner] = cellOf(v)
			}
		case []any:
			parts := make([]string, len(v))
			for i := range v {
				parts[i] = cellOf(v[i])
			}
			out[name] = strings.Join(parts, ";")
		default:
			out[name] = cellOf(v)
		}
	}
	return out
}

func cellOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64: // JSON's number
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Duration:
		return posthouse.Duration(v).String()
	}
	return fmt.Sprint(v)
}

// writeAccounts writes a table in which no cell is a formula: names and labels are what others wrote.
func writeAccounts(w io.Writer, columns []string, each func(func(*posthouse.Account) error) error) error {
	out := csv.NewWriter(w)
	header := strings.Split(accountsHeader, ",")
	for _, name := range columns {
		header = append(header, configColumn+name)
	}
	err := out.Write(header)
	if err == nil {
		err = each(func(a *posthouse.Account) error {
			row := []string{a.Name, strings.Join(a.Pools, ";"), set(float64(a.Weight)), set(a.BaseRate), writeWindows(a.Limits)}
			cells := flat(a.Config)
			for _, name := range columns {
				row = append(row, cells[name])
			}
			for i := range row {
				row[i] = cell.Guard(row[i])
			}
			return out.Write(row)
		})
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("export accounts: %w", err)
	}
	return nil
}

// set is a number's cell, empty where nothing is set.
func set(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
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
	if err := c.Wrong(); err != nil {
		return wire.AccountsStored{}, err
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
