package suppress

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/cell"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Bounds of an import: what one transaction stores, and how many refused records are shown.
const (
	importBatch = 1000
	mostShown   = 100
	mostWould   = 5 // of a trial
)

// Import stores the suppressions of a file: a record each, with an address and, where it has them, a channel, a reason and an
// until. What it does not say is that of the draft. Records that cannot be read stop nothing. What is stored stays when the
// file ends early: the same file again stores the same.
func (l *List) Import(ctx context.Context, tenant string, f audience.Format, given wire.SuppressionDraft, body io.Reader) (out wire.SuppressionImport, err error) {
	return l.take(ctx, tenant, f, given, body, false)
}

// TryImport says what Import would store and refuse of a file, and stores nothing.
func (l *List) TryImport(ctx context.Context, tenant string, f audience.Format, given wire.SuppressionDraft, body io.Reader) (out wire.SuppressionImport, err error) {
	return l.take(ctx, tenant, f, given, body, true)
}

func (l *List) take(ctx context.Context, tenant string, f audience.Format, given wire.SuppressionDraft, body io.Reader, trial bool) (out wire.SuppressionImport, err error) {
	p := &draft.Problems{}
	l.check(tenant, given.Channel, given.Reason, given.Until, p)
	for i := range p.List {
		p.List[i].Path = "query." + p.List[i].Path
	}
	if err := posthouse.Invalid("the file cannot be imported", p.List); err != nil {
		return out, err
	}
	if given.Channel != "" {
		f.Addresses = l.kind(tenant, given.Channel)
	}
	file, err := audience.Open(body, f, Plain)
	if err != nil {
		return out, faultOf(err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, audience.HeadBytes)
	head, err := in.Peek(audience.HeadBytes)
	f = audience.Guess(head, errors.Is(err, io.EOF), f, Plain)
	f.Sheet, f.Sheets = file.Sheet, file.Sheets
	t := &taking{list: l, tenant: tenant, given: given, out: wire.SuppressionImport{First: []wire.RefusedRecord{}, DryRun: trial}, batch: map[key]posthouse.Suppression{}}
	err = t.run(ctx, audience.NewReader(in, f, audience.Position{}, true, Plain))
	return t.out, err
}

// taking is one import on its way.
type taking struct {
	list   *List
	tenant string
	given  wire.SuppressionDraft
	out    wire.SuppressionImport
	batch  map[key]posthouse.Suppression
	// records are of a trial: what each record of the batch would be stored as.
	records [][]key
}

type key struct{ address, channel string }

func (t *taking) run(ctx context.Context, from *audience.Reader) error {
	for {
		row, err := from.Next()
		var refused *audience.Refused
		switch {
		case errors.As(err, &refused):
			t.refuse(refused)
			continue
		case errors.Is(err, io.EOF):
			return t.store(ctx)
		case err != nil:
			return errors.Join(faultOf(err), t.store(ctx))
		}
		if err := t.take(row); err != nil {
			t.refuse(&audience.Refused{Line: row.Line, Column: 1, Reason: err.Error(), Text: row.Address})
			continue
		}
		if len(t.batch) >= importBatch || len(t.records) >= importBatch {
			if err := t.store(ctx); err != nil {
				return err
			}
		}
	}
}

func (t *taking) refuse(r *audience.Refused) {
	t.out.Refused++
	if len(t.out.First) < mostShown {
		t.out.First = append(t.out.First, wire.RefusedRecord{Line: r.Line, Column: r.Column, Reason: r.Reason, Text: r.Text})
	}
}

// take adds what a record says to what is stored next.
func (t *taking) take(row audience.Row) error {
	var said struct {
		Channel, Reason string
		Until           *time.Time
	}
	if row.Variables != nil {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(row.Variables, &fields); err != nil {
			return err
		}
		into := map[string]any{"channel": &said.Channel, "reason": &said.Reason, "until": &said.Until}
		for column, text := range fields {
			name := columnOf(column)
			if into := into[name]; into != nil && string(text) != `""` {
				if err := json.Unmarshal(text, into); err != nil {
					if name == "until" {
						return fmt.Errorf("until: is %.60s: want a time such as 2030-01-01T00:00:00Z", text)
					}
					return fmt.Errorf("%s: is %.60s: want a text", name, text)
				}
			}
		}
	}
	one := posthouse.Suppression{
		Tenant: t.tenant, Channel: cmp.Or(said.Channel, t.given.Channel), Reason: cmp.Or(cell.Bare(said.Reason), t.given.Reason), Source: posthouse.SuppressedByImport, Until: t.given.Until,
	}
	p := &draft.Problems{}
	if said.Until != nil {
		if one.Until = *said.Until; one.Until.IsZero() { // what is kept without a time is kept for ever
			p.Add("until", "is the year 1, which has passed: leave it out for no end")
		}
	}
	t.list.check(t.tenant, one.Channel, one.Reason, one.Until, p)
	address, err := audience.Format{Addresses: t.list.kind(t.tenant, one.Channel)}.Whole("", cell.Bare(row.Address)) // as an export has it, for spreadsheets
	if err != nil {
		p.Add("address", "%v", err)
	}
	forms := t.list.forms(t.tenant, one.Channel, shown(address, p), p)
	if len(p.List) > 0 {
		return errors.New(p.List[0].Path + ": " + p.List[0].Message)
	}
	for _, form := range forms { // a number is written without the spaces that it has; a name in the column is none
		if _, err := audience.PlainAddress(form); err != nil {
			return err
		}
	}
	var keys []key
	for _, s := range each(one, forms) {
		t.batch[key{s.Address, s.Channel}] = s
		keys = append(keys, key{s.Address, s.Channel})
		if t.out.DryRun && len(t.out.Would) < mostWould {
			t.out.Would = append(t.out.Would, s)
		}
	}
	if t.out.DryRun {
		t.records = append(t.records, keys)
	}
	t.out.Stored++
	return nil
}

// kind is what the addresses of a channel are. Those of all channels are as ids of users where one of the channels knows what its own are: nobody
// means a number of which digits are missing, and an id that looks like one stays.
func (l *List) kind(tenant, name string) channel.AddressKind {
	if name != "" {
		if ch := l.channels.Channel(tenant, name); ch != nil {
			return ch.Opened.Addresses
		}
		return ""
	}
	for _, name := range l.channels.Names(tenant) {
		if l.kind(tenant, name) != "" {
			return channel.AddressUser
		}
	}
	return ""
}

// columnOf is what a column holds by its head, also in Chinese, and in capitals.
func columnOf(head string) string {
	head = strings.ToLower(strings.TrimSpace(head))
	for name, also := range map[string][]string{"channel": {"渠道", "渠道名称"}, "reason": {"原因", "理由", "备注"}, "until": {"截止", "截止时间", "截至", "到期", "到期时间", "有效期至"}} {
		if slices.Contains(also, head) {
			return name
		}
	}
	return head
}

// store writes what was taken.
func (t *taking) store(ctx context.Context) error {
	if len(t.batch) == 0 {
		return nil
	}
	if t.out.DryRun {
		return t.compare(ctx)
	}
	list := make([]posthouse.Suppression, 0, len(t.batch))
	for _, s := range t.batch {
		list = append(list, s)
	}
	// In one order, so that two imports do not wait for each other.
	slices.SortFunc(list, func(a, b posthouse.Suppression) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Channel, b.Channel))
	})
	clear(t.batch)
	return t.list.store.Suppress(ctx, time.Now(), list)
}

// compare counts the records of which something is stored already.
func (t *taking) compare(ctx context.Context) error {
	var of work.SuppressionsOf
	for k := range t.batch {
		of.Addresses = append(of.Addresses, k.address)
	}
	slices.Sort(of.Addresses)
	of.Addresses = slices.Compact(of.Addresses)
	there := map[key]bool{}
	for cursor := ""; ; {
		list, next, err := t.list.store.Suppressions(ctx, t.tenant, of, cursor, importBatch)
		if err != nil {
			return err
		}
		for _, s := range list {
			there[key{s.Address, s.Channel}] = true
		}
		if cursor = next; next == "" {
			break
		}
	}
	for _, keys := range t.records {
		if slices.ContainsFunc(keys, func(k key) bool { return there[k] }) {
			t.out.Replaced++
		}
	}
	clear(t.batch)
	t.records = t.records[:0]
	return nil
}

// faultOf tells what is wrong with a file from what went wrong on the way.
func faultOf(err error) error {
	var file *audience.FileError
	if errors.As(err, &file) {
		return posthouse.Errorf(posthouse.CodeInvalid, "%s", file)
	}
	return posthouse.Errorf(posthouse.CodeInvalid, "the file could not be read to its end: %v. What arrived of it is stored: send it again", err)
}
