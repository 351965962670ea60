package console

import (
	"fmt"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// table is what the simple lists show.
type table struct {
	Columns []string // words
	Rows    [][]cell
	Next    string   // the query of the next page
	Empty   string   // the word for a list without entries
	Hints   []string // commands that go on from there
	// Make and MakeAt are the word and the address of a form that makes one, empty for none.
	Make, MakeAt string
}

// cell is one of a table.
type cell struct {
	Text, Link, Word, Class string
	At                      time.Time
}

// Long reports whether a text is one of sentences: its column may have several lines.
func (c cell) Long() bool { return len(c.Text) > longText }

// longText is the length in bytes from which a text is no name or number.
const longText = 40

func plain(text string) cell { return cell{Text: text} }

func when(at time.Time) cell { return cell{At: at} }

func showTemplates(v *visit) error {
	list, err := v.call().Templates.List(v.ctx())
	t := table{Columns: []string{"template", "version", "title", "content", "changed"}, Empty: "no_template", Hints: []string{"posthouse template set duty --text 'Duty: ${name}'"}}
	if v.may(admin, "templates.put") {
		t.Make, t.MakeAt = "new_template", v.at("new-template")
	}
	for _, one := range list {
		t.Rows = append(t.Rows, []cell{{Text: one.Name, Link: v.at("templates", one.Name)}, plain(fmt.Sprint(one.Version)), plain(one.Title), plain(one.Text), when(one.CreatedAt)})
	}
	return v.table("templates", t, err)
}

func showOutbox(v *visit) error {
	page, err := v.call().Outbox.List(v.ctx(), client.Filter{Cursor: v.query("cursor"), Limit: pageLength})
	t := table{Columns: []string{"id", "channel", "problem", "failures", "changed"}, Next: page.Next, Empty: "outbox_fine", Hints: []string{"posthouse outbox"}}
	for _, one := range page.Items {
		t.Rows = append(t.Rows, []cell{plain(one.ID), plain(one.Channel), plain(one.Problem), plain(fmt.Sprint(one.Failures)), when(one.FailedAt)})
	}
	return v.table("outbox", t, err)
}

// table draws a simple list.
func (v *visit) table(page string, t table, err error) error {
	if err != nil {
		return err
	}
	t.Next = v.onward(t.Next)
	return v.show("table", page, t)
}

// onward is the query of the page that a cursor begins, empty for none.
func (v *visit) onward(cursor string) string {
	if cursor == "" {
		return ""
	}
	q := v.r.URL.Query()
	q.Del("page")
	q.Set("cursor", cursor)
	return "?" + q.Encode()
}

// cut is one page of rows that are read whole, and the query of the next, empty for none.
func cut[T any](v *visit, rows []T, length int) (part []T, next string) {
	page, err := strconv.Atoi(v.query("page"))
	if err != nil || page < 1 {
		page = 1
	}
	from := min(min(page-1, len(rows)/length+1)*length, len(rows)) // also of a number that is far behind the last page
	to := min(from+length, len(rows))
	if to < len(rows) {
		q := v.r.URL.Query()
		q.Set("page", strconv.Itoa(page+1))
		next = "?" + q.Encode()
	}
	return rows[from:to], next
}

// house is what the page of the system shows.
type house struct {
	wire.Health
	wire.Readiness
	Processes []wire.Process
}

// Differ reports whether processes differ that should not.
func (h house) Differ() bool { return differ(h.Processes) }

func showSystem(v *visit) error {
	var h house
	var err error
	if h.Health, err = v.call().Health(v.ctx()); err != nil {
		return err
	}
	if h.Readiness, err = v.call().Ready(v.ctx()); err != nil {
		return err
	}
	if h.Processes, err = processesFor(v); err != nil {
		return err
	}
	return v.show("system", "system", h)
}
