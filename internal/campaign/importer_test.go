package campaign_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/campaigns"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

var databases = []struct {
	name string
	dsn  func(testing.TB) string
}{
	{"sqlite", sqltest.Ready.SQLite},
	{"postgres", sqltest.Ready.Postgres},
	{"mariadb", sqltest.Ready.MariaDB},
}

// eachDB runs a test on an empty, migrated database of each kind.
func eachDB(t *testing.T, test func(t *testing.T, h *hall)) {
	t.Helper()
	t.Parallel()
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			test(t, openHall(t, db.dsn(t)))
		})
	}
}

// hall is a database with what works on campaigns.
type hall struct {
	testing.TB
	store    *store.Store
	importer *campaign.Importer
	dsn      string
}

func openHall(t testing.TB, dsn string) *hall {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	im, err := campaign.NewImporter(s.Audiences, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &hall{t, s, im, dsn}
}

// audience makes an empty list.
func (h *hall) audience(name string) work.Audience {
	h.Helper()
	a, err := h.store.Audiences.MakeAudience(h.Context(), time.Now(), work.Audience{Audience: posthouse.Audience{ID: posthouse.NewID(), Tenant: "t1", Name: name}})
	if err != nil {
		h.Fatal(err)
	}
	return a
}

// again reads a list as another process would.
func (h *hall) again(a work.Audience) work.Audience {
	h.Helper()
	got, found, err := h.store.Audiences.Audience(h.Context(), a.Tenant, a.ID)
	if err != nil || !found {
		h.Fatalf("read the audience: %t, %v", found, err)
	}
	return got
}

// crowd is a CSV file and what is to become of it.
type crowd struct {
	file    string
	members []string // as everybody tells them
	unique  map[string]int64
	bad     int
}

// people are n lines, every seventh of which tells somebody again, and every eleventh is bad.
func people(n int) crowd {
	c := crowd{unique: map[string]int64{}}
	var b strings.Builder
	b.WriteString("openid,name\n")
	for i := range n {
		if i%11 == 5 {
			c.bad++
			fmt.Fprintf(&b, "o%d\n", i)
			continue
		}
		address := fmt.Sprint("o", i)
		if i%7 == 6 {
			address = fmt.Sprint("o", i/2)
		}
		fmt.Fprintf(&b, "%s,\"张%d\"\n", address, i)
		seq := int64(len(c.members) + 1)
		_, twice := c.unique[address]
		if !twice {
			c.unique[address] = seq
		}
		c.members = append(c.members, fmt.Sprintf(`%d %s {"name":"张%d"} %t`, seq, address, i, twice))
	}
	c.file = b.String()
	return c
}

// everybody reads an audience from its first member to its last, as one line each.
func (h *hall) everybody(a work.Audience) []string {
	h.Helper()
	var list []string
	repeated := h.importer.Repeated(h.Context(), a)
	err := h.importer.Members(h.Context(), a, 1, a.Last, func(m audience.Member) error {
		twice, err := repeated(m.Seq)
		list = append(list, fmt.Sprint(m.Seq, " ", m.Address, " ", string(m.Variables), " ", twice))
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return list
}

func (h *hall) refused(a work.Audience) (lines []string) {
	h.Helper()
	err := h.importer.Refused(h.Context(), a, func(line []byte) error { lines = append(lines, string(line)); return nil })
	if err != nil {
		h.Fatal(err)
	}
	return lines
}

// CAMP-1, CAMP-9: each member has a number, an address and variables; who stands twice is marked and counted; what is bad is
// kept with its line; everybody is found by the address.
func TestAnAudienceIsImportedAndEverybodyIsFound(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		c := people(3000)
		a, err := h.importer.Import(t.Context(), time.Now, h.audience("people"), campaign.Part{Final: true}, strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h.again(a), a); diff != "" {
			t.Errorf("what Import returns is not what is stored:\n%s", diff)
		}
		if diff := cmp.Diff(c.members, h.everybody(a)); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
		for i, address := range slices.Sorted(maps.Keys(c.unique)) {
			if i%61 > 0 {
				continue
			}
			if got, found, err := h.importer.Find(t.Context(), a, address); got.Seq != c.unique[address] || got.Address != address || !found || err != nil {
				t.Fatalf("find %s: %+v, %t, %v; want the number %d", address, got, found, err, c.unique[address])
			}
		}
		last := int64(len(c.members))
		twice := last - int64(len(c.unique))
		if a.State != posthouse.AudienceReady || a.Members != last-twice || a.Repeated != twice || a.Refused != int64(c.bad) || a.Last != last || a.Fields["name"] != last || twice == 0 {
			t.Errorf("the audience is %+v, want %d members, %d repeated, %d refused", a.Audience, last-twice, twice, c.bad)
		}
		if lines := h.refused(a); len(lines) != c.bad || lines[0] != `{"line":7,"column":3,"reason":"has 1 fields: want 2, one for each column","text":"o5"}`+"\n" {
			t.Errorf("%d were refused, the first %q; want %d", len(lines), lines[0], c.bad)
		}
		for _, stranger := range []string{"o2997", "nobody", ""} {
			if _, found, err := h.importer.Find(t.Context(), a, stranger); found || err != nil {
				t.Errorf("find %q: %t, %v", stranger, found, err)
			}
		}
		_, err = h.importer.Import(t.Context(), time.Now, a, campaign.Part{Offset: a.Offset, Final: true}, strings.NewReader("o9999,x\n"))
		if posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("import more into it: %v, want a conflict", err)
		}
	})
}

// CAMP-9: an import goes on after any interruption, by the offset or with the whole file, and ends as one that was not
// interrupted.
func TestAnImportGoesOnWhereItWas(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		file := people(2500).file
		whole, err := h.importer.Import(t.Context(), time.Now, h.audience(""), campaign.Part{Final: true}, strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		cut := errors.New("the line is dead")
		parts := h.audience("parts")
		for i := 0; parts.State == posthouse.AudienceOpen; i++ {
			from := int(parts.Offset)
			body, p := io.Reader(strings.NewReader(file[from:])), campaign.Part{Offset: parts.Offset, SHA256: parts.SHA256, Final: true}
			switch {
			case i%3 == 1: // the connection ends in the midst of it
				body = io.MultiReader(strings.NewReader(file[from:min(from+9001, len(file))]), iotest.ErrReader(cut))
			case i%3 == 2: // a part that was cut by its sender, in the midst of a record
				body, p.Final = strings.NewReader(file[from:min(from+12345, len(file))]), false
			case i < 7: // the whole file once more, and again the connection ends
				body, p.Offset = io.MultiReader(strings.NewReader(file[:min(from+7001, len(file))]), iotest.ErrReader(cut)), 0
			}
			got, err := h.importer.Import(t.Context(), time.Now, parts, p, body)
			if err != nil && !strings.Contains(err.Error(), "go on at the offset") {
				t.Fatalf("part %d at %d: %v", i, from, err)
			}
			if parts = h.again(got); parts.Offset <= int64(from) && from < len(file) {
				t.Fatalf("part %d stored nothing behind %d", i, from)
			}
		}
		if diff := cmp.Diff(h.everybody(whole), h.everybody(parts)); diff != "" {
			t.Errorf("members (-whole +parts):\n%s", diff)
		}
		if diff := cmp.Diff(h.refused(whole), h.refused(parts)); diff != "" {
			t.Errorf("refused (-whole +parts):\n%s", diff)
		}
		if parts.SHA256 != whole.SHA256 || parts.Offset != int64(len(file)) || parts.Members != whole.Members || parts.Line != whole.Line {
			t.Errorf("the parts made %+v, the whole %+v", parts.Audience, whole.Audience)
		}
	})
}

func TestAnImportRefusesWhatDoesNotGoOn(t *testing.T) {
	h := openHall(t, dbtest.SQLite(t))
	a, err := h.importer.Import(t.Context(), time.Now, h.audience(""), campaign.Part{}, strings.NewReader("openid\no1\no2\n"))
	if err != nil || a.Offset != 13 {
		t.Fatalf("%+v, %v", a, err)
	}
	for _, tt := range []struct {
		name string
		part campaign.Part
		body string
		want string
	}{
		{"another place", campaign.Part{Offset: 5}, "", "the part begins at byte 5: the import goes on at 13, or at 0 with the whole file"},
		{"another hash", campaign.Part{Offset: 13, SHA256: "00"}, "", "the file is another: what is stored of it has a different hash"},
		{"another file", campaign.Part{}, "openid\no1\no3\no4\n", "the file is another: what is stored of it has a different hash"},
		{"a shorter file", campaign.Part{}, "openid\n", "the file ends at byte 7: 13 are stored already"},
		{"another format", campaign.Part{Offset: 13, Format: audience.Format{Kind: audience.NDJSON}}, "", `the parts before were read with {"kind":"","address":"openid"}, this one with {"kind":"ndjson","address":"openid"}: want the same for all`},
		{"no whole record", campaign.Part{Offset: 13}, "o3", "the part ends within its first record: send more at once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := h.importer.Import(t.Context(), time.Now, h.again(a), tt.part, strings.NewReader(tt.body))
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	// Of two who go on at once, one is told.
	before := h.again(a)
	if _, err := h.importer.Import(t.Context(), time.Now, before, campaign.Part{Offset: 13}, strings.NewReader("o3\n")); err != nil {
		t.Fatal(err)
	}
	_, err = h.importer.Import(t.Context(), time.Now, before, campaign.Part{Offset: 13}, strings.NewReader("o3\n"))
	if posthouse.CodeOf(err) != posthouse.CodeConflict || h.again(a).Last != 3 {
		t.Errorf("the second got %v, and the audience has %d members", err, h.again(a).Last)
	}
}

// A process that dies while it looks for who stands twice leaves an audience that the next one finishes.
func TestAnAudienceIsClosedAgainAfterACrash(t *testing.T) {
	h := openHall(t, dbtest.SQLite(t))
	a, err := h.importer.Import(t.Context(), time.Now, h.audience(""), campaign.Part{}, strings.NewReader("openid\no1\no2\no1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for left := 1; ; left++ { // it dies after 1, 2, … steps
		im, err := campaign.NewImporter(&dying{h.store.Audiences, left}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = im.Close(t.Context(), time.Now, h.again(a)); err == nil {
			break
		}
		if !errors.Is(err, errDead) {
			t.Fatal(err)
		}
	}
	if got := h.again(a); got.State != posthouse.AudienceReady || got.Members != 2 || got.Repeated != 1 {
		t.Errorf("the audience is %+v", got.Audience)
	}
}

var errDead = errors.New("dead")

type dying struct {
	campaigns.Audiences
	left int
}

func (d *dying) Append(ctx context.Context, now time.Time, a work.Audience, blocks []work.Block) (work.Audience, error) {
	if d.left--; d.left < 0 {
		return a, errDead
	}
	return d.Audiences.Append(ctx, now, a, blocks)
}

// BenchmarkImport imports b.N members into an SQLite file, duplicates removed and the index made.
func BenchmarkImport(b *testing.B) {
	h := openHall(b, dbtest.SQLite(b))
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriterSize(out, 64<<10)
		w.WriteString("openid,name,sum,until\n")
		for i := range b.N {
			if i%33 == 7 {
				i /= 2
			}
			fmt.Fprintf(w, "o6_bmj%022d,张三%d,%d,2026-12-01\n", uint64(i)*0x9e3779b97f4a7c15>>3, i%1000, i%200)
		}
		w.Flush()
		out.Close()
	}()
	a, err := h.importer.Import(b.Context(), time.Now, h.audience(""), campaign.Part{Final: true}, in)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(a.Repeated), "repeated")
}

// CAMP-9: a file whose later lines show that it is GBK is read as that from there on: nobody is lost. Where UTF-8 was said, it is refused as far as
// it is stored, and goes on as GBK.
func TestCAMP9_AFileThatShowsToBeGBKGoesOnAsGBK(t *testing.T) {
	var b strings.Builder
	b.WriteString("openid,name\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, "o%05d,n\n", i)
	}
	file := b.String() + "o99999,\xd5\xc5\xc8\xfd\n" // 张三
	eachDB(t, func(t *testing.T, h *hall) {
		whole, err := h.importer.Import(t.Context(), time.Now, h.audience(""), campaign.Part{Final: true}, strings.NewReader(file))
		if err != nil || whole.Members != 20_001 || !strings.Contains(whole.Format, `"encoding":"gbk"`) {
			t.Fatalf("with nothing said: %+v, %v", whole.Audience, err)
		}
		utf8 := campaign.Part{Final: true, Format: audience.Format{Encoding: audience.UTF8}}
		a, err := h.importer.Import(t.Context(), time.Now, h.audience(""), utf8, strings.NewReader(file))
		if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "line 20002 is not UTF-8 but reads as GBK") || a.Offset == 0 || a.Last > 20_000 {
			t.Fatalf("read as UTF-8: %+v, %v", a.Audience, err)
		}
		gbk := campaign.Part{Final: true, Format: audience.Format{Encoding: audience.GBK}}
		if a, err = h.importer.Import(t.Context(), time.Now, h.again(a), gbk, strings.NewReader(file)); err != nil || a.Members != 20_001 || a.Refused != 0 || a.Repeated != 0 {
			t.Fatalf("read as GBK: %+v, %v", a.Audience, err)
		}
		if m, found, err := h.importer.Find(t.Context(), a, "o99999"); err != nil || !found || string(m.Variables) != `{"name":"张三"}` {
			t.Errorf("the last one is %+v, %t, %v", m, found, err)
		}
	})
}

// CAMP-9: a file without anybody changes nothing, so that the right one can come.
func TestCAMP9_AFileWithoutAnybodyChangesNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		a := h.audience("")
		for _, file := range []string{"", "\n\n", "openid,name\n", "openid,name"} {
			got, err := h.importer.Import(t.Context(), time.Now, h.again(a), campaign.Part{Final: true}, strings.NewReader(file))
			if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "nobody is in the file") || got.State != posthouse.AudienceOpen || got.Offset != 0 {
				t.Errorf("%q: %+v, %v", file, got.Audience, err)
			}
		}
		if a, err := h.importer.Import(t.Context(), time.Now, h.again(a), campaign.Part{Final: true}, strings.NewReader("name;town\nx;y\n")); err == nil || a.State != posthouse.AudienceOpen {
			t.Errorf("a file without an address: %+v, %v", a.Audience, err)
		}
		if a, err := h.importer.Import(t.Context(), time.Now, h.again(a), campaign.Part{Final: true}, strings.NewReader("openid\no1\n")); err != nil || a.Members != 1 {
			t.Errorf("the right one: %+v, %v", a.Audience, err)
		}
	})
}

// CAMP-9: the sheet of a workbook that was read first is the one that the next part goes on in, and no other.
func TestCAMP9_AWorkbookGoesOnInItsSheet(t *testing.T) {
	book := consoletest.Workbook(t, consoletest.Sheet{Name: "说明", Rows: [][]any{{"字段"}, {"手机号"}}},
		consoletest.Sheet{Name: "五月", Rows: [][]any{{"手机号"}, {"13800138000"}}}, consoletest.Sheet{Name: "六月", Rows: [][]any{{"手机号"}, {"13900139000"}}})
	eachDB(t, func(t *testing.T, h *hall) {
		part := func(a work.Audience, p campaign.Part) (work.Audience, error) {
			return h.importer.Import(t.Context(), time.Now, a, p, strings.NewReader(book))
		}
		a, err := part(h.audience(""), campaign.Part{Format: audience.Format{Sheet: "六月"}})
		if err != nil || a.Members != 1 {
			t.Fatalf("a part: %+v, %v", a.Audience, err)
		}
		if _, err := part(h.again(a), campaign.Part{Final: true, Format: audience.Format{Sheet: "五月"}}); posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("it goes on in another sheet: %v", err)
		}
		if a, err = part(h.again(a), campaign.Part{Final: true}); err != nil || a.Members != 1 {
			t.Fatalf("the end: %+v, %v", a.Audience, err)
		}
		if _, found, err := h.importer.Find(t.Context(), a, "13900139000"); err != nil || !found {
			t.Errorf("who is in the sheet is not found: %v", err)
		}
	})
}
