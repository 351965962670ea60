// Package lksms keeps what the front for the SMS document has tables for: its templates and default contents. It is not
// that front.
package lksms

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Texts are the templates and default contents of the SMS front door.
type Texts struct{ db *sqldb.DB }

// TextsOf are those in a database.
func TextsOf(db *sqldb.DB) Texts { return Texts{db} }

const textColumns = "tenant, id, name, body, active, created_at, updated_at"

func readText(scan sqldb.Scanner) (work.SMSTemplate, error) {
	var t work.SMSTemplate
	var active, created, updated int64
	err := scan(&t.Tenant, &t.ID, &t.Name, &t.Text, &active, &created, &updated)
	t.Active, t.CreatedAt, t.UpdatedAt = active != 0, sqldb.TimeOf(created), sqldb.TimeOf(updated)
	return t, err
}

// mostTexts are the templates that a tenant may have: the document's list of them has no pages.
const mostTexts = 1000

// AddSMSTemplate stores a template under the next number.
func (s Texts) AddSMSTemplate(ctx context.Context, now time.Time, t work.SMSTemplate) (work.SMSTemplate, error) {
	err := s.db.Change(ctx, now, "store an SMS template", func(x *sqldb.Tx) error {
		if err := x.Serialize(); err != nil {
			return err
		}
		at, err := x.Now()
		if err != nil {
			return err
		}
		last, _, err := sqldb.First(x.Query, sqldb.Number, "SELECT COALESCE(MAX(id), 0) FROM posthouse_sms_texts WHERE tenant = ?", t.Tenant)
		if err != nil {
			return err
		}
		if last >= mostTexts {
			return posthouse.Errorf(posthouse.CodeConflict, "there are %d SMS templates: no more are allowed", last)
		}
		t.ID, t.CreatedAt, t.UpdatedAt = last+1, sqldb.TimeOf(at), sqldb.TimeOf(at)
		_, err = x.Exec("INSERT INTO posthouse_sms_texts ("+textColumns+") VALUES ("+sqldb.Marks(7)+")", t.Tenant, t.ID, t.Name, t.Text, sqldb.Flag(t.Active), at, at)
		return err
	})
	return t, err
}

// SetSMSTemplate makes a template active, or not.
func (s Texts) SetSMSTemplate(ctx context.Context, now time.Time, tenant string, id int64, active bool) error {
	return s.db.Change(ctx, now, "change an SMS template", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_sms_texts SET active = ?, updated_at = ? WHERE tenant = ? AND id = ?", sqldb.Flag(active), at, tenant, id)
		if err == nil && n == 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no SMS template %d", id)
		}
		return err
	})
}

// SMSTemplates lists the templates of a tenant by number.
func (s Texts) SMSTemplates(ctx context.Context, tenant string) ([]work.SMSTemplate, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readText, "SELECT "+textColumns+" FROM posthouse_sms_texts WHERE tenant = ? ORDER BY id", tenant)
	return list, s.db.Coded(err, "list the SMS templates")
}

const defaultColumns = "tenant, phone, body, templated, generation, sent, created_at, updated_at"

func readDefault(scan sqldb.Scanner) (work.DefaultSMS, error) {
	var d work.DefaultSMS
	var templated, sent, created, updated int64
	err := scan(&d.Tenant, &d.Phone, &d.Text, &templated, &d.Generation, &sent, &created, &updated)
	d.Templated, d.Sent, d.CreatedAt, d.UpdatedAt = templated != 0, sent != 0, sqldb.TimeOf(created), sqldb.TimeOf(updated)
	return d, err
}

// PutDefaultSMS sets what a phone is sent without a content, as a new generation: it may be taken once more, but
// where d is Sent. It returns what is stored.
func (s Texts) PutDefaultSMS(ctx context.Context, now time.Time, d work.DefaultSMS) (work.DefaultSMS, error) {
	put := d
	err := s.db.Change(ctx, now, "store a default SMS", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		old, found, err := sqldb.First(t.Query, readDefault, "SELECT "+defaultColumns+" FROM posthouse_default_sms WHERE tenant = ? AND phone = ?", d.Tenant, d.Phone)
		if err != nil {
			return err
		}
		put = d
		put.Generation, put.CreatedAt, put.UpdatedAt = old.Generation+1, sqldb.TimeOf(at), sqldb.TimeOf(at)
		if found {
			put.CreatedAt = old.CreatedAt
			_, err = t.Exec("UPDATE posthouse_default_sms SET body = ?, templated = ?, generation = ?, sent = ?, updated_at = ? WHERE tenant = ? AND phone = ?",
				d.Text, sqldb.Flag(d.Templated), put.Generation, sqldb.Flag(d.Sent), at, d.Tenant, d.Phone)
			return err
		}
		_, err = t.Exec("INSERT INTO posthouse_default_sms ("+defaultColumns+") VALUES ("+sqldb.Marks(8)+")",
			d.Tenant, d.Phone, d.Text, sqldb.Flag(d.Templated), put.Generation, sqldb.Flag(d.Sent), at, at)
		return err
	})
	return put, err
}

// DefaultSMS reads a phone's default content, and whether a message on the channel has taken it.
func (s Texts) DefaultSMS(ctx context.Context, tenant, channel, phone string) (d work.DefaultSMS, found bool, err error) {
	d, found, err = sqldb.First(s.db.Reads(ctx), readDefault, "SELECT "+defaultColumns+" FROM posthouse_default_sms WHERE tenant = ? AND phone = ?", tenant, phone)
	if err != nil || !found || d.Sent {
		return d, found, s.db.Coded(err, "read a default SMS")
	}
	_, d.Sent, err = sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT message_id FROM posthouse_dedup WHERE tenant = ? AND channel = ? AND dedup_key = ?", tenant, channel, d.DedupKey())
	return d, found, s.db.Coded(err, "read a default SMS")
}
