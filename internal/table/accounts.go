package table

import (
	"encoding/csv"
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
	"github.com/posthouse/posthouse/internal/limittext"
)

// The columns of accounts. What is an account's of the driver's fields follows as config.<field>, and as
// config.<field>.<name> where the field holds names.
const (
	accountsHeader = "name,pools,weight,base_rate,limits,budget"
	configColumn   = "config."
)

// Fields are those of a driver, by name.
type Fields map[string]channel.Field

// Each visits the accounts of a channel.
type Each func(visit func(*posthouse.Account) error) error

// Accounts reads the accounts of a channel. lines are where they stand.
func Accounts(to Problems, of Fields, text []byte, most int) (list []posthouse.Account, lines []int) {
	known := strings.Split(accountsHeader, ",")
	s := sheet{Problems: to, text: text, want: accountsHeader + ",config.secret", first: "name", most: most, column: func(name string) {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, configColumn) {
			to.Refuse("line 1", "has a column %.80q: want %s, and config.<field> for the driver's", name, strings.Join(known, ", "))
		}
	}, row: func(header, row []string, line int) {
		list = append(list, accountRow{to: to, at: fmt.Sprintf("line %d", line), fields: of}.account(header, row))
	}}
	lines = s.read()
	return list, lines
}

// accountRow reads a line of a table.
type accountRow struct {
	to     Problems
	at     string
	fields Fields
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
			a.Pools = parts(text)
		case "weight":
			a.Weight, err = strconv.Atoi(text)
		case "base_rate":
			a.BaseRate, err = strconv.ParseFloat(text, 64)
		case "limits":
			a.Limits, err = limittext.Read(text)
		case "budget":
			if a.Budget, err = limittext.Budget(text); err != nil {
				r.to.Refuse(r.at+"."+column, "%v", err)
				err = nil
			}
		default:
			r.config(&a, strings.TrimPrefix(column, configColumn), text)
		}
		if err != nil {
			r.to.Refuse(r.at+"."+column, "is %.80q: want %s", text, accountCells[column])
		}
	}
	return a
}

// accountCells say what a cell holds.
var accountCells = map[string]string{
	"weight": "a whole number", "base_rate": "a number of messages a second", "limits": "windows such as 20/1s;1000/1m, or unlimited",
	"budget": "a budget such as 20000/month@Asia/Shanghai",
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
		a.Config[name] = parts(text)
	}
}

// Columns are the columns of the driver's fields that any account has.
func Columns(of Fields, each Each) ([]string, error) {
	seen := map[string]bool{}
	for name, f := range of {
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

// WriteAccounts writes a table in which no cell is a formula: names and labels are what others wrote.
func WriteAccounts(w io.Writer, columns []string, each Each) error {
	out := csv.NewWriter(w)
	header := strings.Split(accountsHeader, ",")
	for _, name := range columns {
		header = append(header, configColumn+name)
	}
	err := out.Write(header)
	if err == nil {
		err = each(func(a *posthouse.Account) error {
			row := []string{a.Name, strings.Join(a.Pools, ";"), set(float64(a.Weight)), set(a.BaseRate), limittext.Text(a.Limits, ";"), limittext.BudgetText(a.Budget)}
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
