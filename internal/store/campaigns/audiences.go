package campaigns

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// audienceColumns begin with what never changes.
const audienceColumns = "id, tenant, name, channel, created_at, " + audienceProgress + ", version, updated_at"

// audienceProgress is what each step of an import writes.
const audienceProgress = "state, format, header, skipping, file_offset, line, digest, sha256, last_seq, members, repeated, refused, fields, pages"

func readAudience(scan sqldb.Scanner) (work.Audience, error) {
	var a work.Audience
	var header, digest, fields string
	var skipping, created, updated int64
	err := scan(&a.ID, &a.Tenant, &a.Name, &a.Channel, &created, &a.State, &a.Format, &header, &skipping, &a.Offset, &a.Line, &digest, &a.SHA256,
		&a.Last, &a.Members, &a.Repeated, &a.Refused, &fields, &a.Pages, &a.Edition, &updated)
	if err != nil {
		return a, err
	}
	if a.Name == a.ID {
		a.Name = ""
	}
	a.Skip, a.CreatedAt, a.UpdatedAt, a.Fields = skipping != 0, sqldb.TimeOf(created), sqldb.TimeOf(updated), map[string]int64{}
	if header != "" {
		err = json.Unmarshal([]byte(header), &a.Columns)
	}
	if err == nil && fields != "" {
		err = json.Unmarshal([]byte(fields), &a.Fields)
	}
	if err == nil {
		a.Digest, err = hex.DecodeString(digest)
	}
	return a, err
}

func progressOf(a *work.Audience) ([]any, error) {
	header, err := json.Marshal(a.Columns)
	if err != nil {
		return nil, err
	}
	fields, err := json.Marshal(a.Fields)
	if err != nil {
		return nil, err
	}
	return []any{
		string(a.State), a.Format, string(header), sqldb.Flag(a.Skip), a.Offset, a.Line, hex.EncodeToString(a.Digest), a.SHA256,
		a.Last, a.Members, a.Repeated, a.Refused, string(fields), a.Pages,
	}, nil
}

// MakeAudience makes an empty list. A name that is taken is a conflict.
func (s Audiences) MakeAudience(ctx context.Context, now time.Time, a work.Audience) (work.Audience, error) {
	made := a
	err := s.db.Change(ctx, now, "make an audience", func(t *sqldb.Tx) (err error) {
		made, err = makeAudience(t, a)
		return err
	})
	if s.db.Taken(err) {
		err = posthouse.Errorf(posthouse.CodeConflict, "there is an audience %q already", a.Name)
	}
	return made, err
}

// makeAudience inserts an empty list. One without a name has its id in its place.
func makeAudience(t *sqldb.Tx, a work.Audience) (work.Audience, error) {
	at, err := t.Now()
	if err != nil {
		return a, err
	}
	a.State, a.Line, a.Edition, a.CreatedAt, a.UpdatedAt, a.Fields = posthouse.AudienceOpen, 1, 1, sqldb.TimeOf(at), sqldb.TimeOf(at), map[string]int64{}
	progress, err := progressOf(&a)
	if err != nil {
		return a, err
	}
	name := a.Name
	if name == "" {
		name = a.ID
	}
	args := append([]any{a.ID, a.Tenant, name, a.Channel, at}, progress...)
	_, err = t.Exec("INSERT INTO posthouse_audiences ("+audienceColumns+") VALUES ("+sqldb.Marks(len(args)+2)+")", append(args, a.Edition, at)...)
	return a, err
}

// Audience reads a list by its name, or by its id.
func (s Audiences) Audience(ctx context.Context, tenant, name string) (work.Audience, bool, error) {
	a, found, err := sqldb.First(s.db.Reads(ctx), readAudience, "SELECT "+audienceColumns+" FROM posthouse_audiences WHERE tenant = ? AND name = ?", tenant, name)
	if err == nil && !found && posthouse.ValidID(name) {
		return s.AudienceOf(ctx, tenant, name)
	}
	return a, found, s.db.Coded(err, "read an audience")
}

// AudienceOf reads a list by its id.
func (s Audiences) AudienceOf(ctx context.Context, tenant, id string) (work.Audience, bool, error) {
	a, found, err := sqldb.First(s.db.Reads(ctx), readAudience, "SELECT "+audienceColumns+" FROM posthouse_audiences WHERE id = ? AND tenant = ?", id, tenant)
	return a, found, s.db.Coded(err, "read an audience")
}

// MembersOf is how many members lists have, by their ids.
func (s Audiences) MembersOf(ctx context.Context, ids []string) (map[string]int64, error) {
	all := map[string]int64{}
	if len(ids) == 0 {
		return all, nil
	}
	where, args := s.db.In("id", ids)
	err := s.db.Look(ctx, "SELECT id, members FROM posthouse_audiences WHERE "+where, args, func(scan sqldb.Scanner) error {
		var id string
		var n int64
		err := scan(&id, &n)
		all[id] = n
		return err
	})
	return all, s.db.Coded(err, "count the members of audiences")
}

// Audiences lists a tenant's lists that have a name, by it.
func (s Audiences) Audiences(ctx context.Context, tenant, cursor string, limit int) ([]posthouse.Audience, string, error) {
	after, err := page.Key("audiences", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (posthouse.Audience, error) {
		a, err := readAudience(scan)
		return a.Audience, err
	}, "SELECT "+audienceColumns+" FROM posthouse_audiences WHERE tenant = ? AND name > ? AND name <> id ORDER BY name LIMIT ?", tenant, after, size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the audiences")
	}
	list, next := page.Cut(list, size, "audiences", func(a posthouse.Audience) string { return a.Name })
	return list, next, nil
}

// Append stores blocks and how far the import is, where the audience still has the edition that it was read with, and moves
// the campaign whose own it is.
func (s Audiences) Append(ctx context.Context, now time.Time, a work.Audience, blocks []work.Block) (work.Audience, error) {
	stored := a
	err := s.db.Change(ctx, now, "store a part of an audience", func(t *sqldb.Tx) error {
		stored = a
		at, err := t.Now()
		if err != nil {
			return err
		}
		progress, err := progressOf(&a)
		if err != nil {
			return err
		}
		stored.Edition, stored.UpdatedAt = a.Edition+1, sqldb.TimeOf(at)
		n, err := t.Exec("UPDATE posthouse_audiences SET "+assigned(audienceProgress)+", version = ?, updated_at = ? WHERE id = ? AND version = ?",
			append(progress, stored.Edition, at, a.ID, a.Edition)...)
		if err != nil {
			return err
		}
		if n != 1 {
			return posthouse.Errorf(posthouse.CodeConflict, "somebody else is storing this audience: ask how far it is, and go on there")
		}
		if err := putBlocks(t, a.ID, blocks); err != nil {
			return err
		}
		return followAudience(t, &a, at)
	})
	return stored, err
}

// followAudience moves a campaign with the members of its own, as far as it has not begun.
func followAudience(t *sqldb.Tx, a *work.Audience, at int64) error {
	to := posthouse.CampaignImporting
	if a.State == posthouse.AudienceReady {
		to = posthouse.CampaignReady
	}
	_, err := t.Exec("UPDATE posthouse_campaigns SET state = ?, last_seq = ?, version = version + 1, updated_at = ? WHERE audience = ? AND list_name = '' AND state IN (?, ?) AND state <> ?",
		string(to), a.Last, at, a.ID, string(posthouse.CampaignDraft), string(posthouse.CampaignImporting), string(to))
	return err
}

// putBlocks writes blocks over those that an attempt before has written.
func putBlocks(t *sqldb.Tx, audience string, blocks []work.Block) error {
	columns := []string{"audience", "part", "first_seq", "n", "bytes"}
	for _, b := range blocks {
		_, err := t.Exec("INSERT INTO posthouse_audience_blocks (audience, part, first_seq, n, bytes) VALUES (?, ?, ?, ?, ?)"+
			t.DB.Dialect.Upsert("posthouse_audience_blocks", columns[:3], columns[3:], false), audience, b.Part, b.First, b.N, b.Bytes)
		if err != nil {
			return err
		}
	}
	return nil
}

const blockColumns = "part, first_seq, n, bytes"

func readBlock(scan sqldb.Scanner) (b work.Block, err error) {
	err = scan(&b.Part, &b.First, &b.N, &b.Bytes)
	return b, err
}

// Blocks reads up to max blocks of a part, in order, that begin at or behind from.
func (s Audiences) Blocks(ctx context.Context, audience, part string, from int64, max int) ([]work.Block, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readBlock, "SELECT "+blockColumns+" FROM posthouse_audience_blocks WHERE audience = ? AND part = ? AND first_seq >= ? ORDER BY first_seq LIMIT ?",
		audience, part, from, max)
	return list, s.db.Coded(err, "read an audience")
}

// BlockAt reads the block of a part that begins at a place or is the last one before it.
func (s Audiences) BlockAt(ctx context.Context, audience, part string, at int64) (work.Block, bool, error) {
	b, found, err := sqldb.First(s.db.Reads(ctx), readBlock, "SELECT "+blockColumns+" FROM posthouse_audience_blocks WHERE audience = ? AND part = ? AND first_seq <= ? ORDER BY first_seq DESC LIMIT 1",
		audience, part, at)
	return b, found, s.db.Coded(err, "read an audience")
}

// assigned is a list of columns as an UPDATE sets them.
func assigned(columns string) string { return strings.ReplaceAll(columns, ",", " = ?,") + " = ?" }
