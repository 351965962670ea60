package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

const textColumns = "tenant, id, name, body, active, created_at, updated_at"

func readText(scan scanner) (work.SMSTemplate, error) {
	var t work.SMSTemplate
	var active, created, updated int64
	err := scan(&t.Tenant, &t.ID, &t.Name, &t.Text, &active, &created, &updated)
	t.Active, t.CreatedAt, t.UpdatedAt = active != 0, timeOf(created), timeOf(updated)
	return t, err
}

// AddSMSTemplate stores a template under the next number.
func (s Texts) AddSMSTemplate(ctx context.Context, now time.Time, t work.SMSTemplate) (work.SMSTemplate, error) {
	err := s.db.change(ctx, now, "store an SMS template", func(x *Tx) error {
		if err := x.serialize(); err != nil {
			return err
		}
		at, err := x.now()
		if err != nil {
			return err
		}
		last, _, err := first(x.query, number, "SELECT COALESCE(MAX(id), 0) FROM posthouse_sms_texts WHERE tenant = ?", t.Tenant)
		if err != nil {
			return err
		}
		t.ID, t.CreatedAt, t.UpdatedAt = last+1, timeOf(at), timeOf(at)
		_, err = x.exec("INSERT INTO posthouse_sms_texts ("+textColumns+") VALUES ("+marks(7)+")", t.Tenant, t.ID, t.Name, t.Text, flag(t.Active), at, at)
		return err
	})
	return t, err
}

// SetSMSTemplate makes a template active, or not.
func (s Texts) SetSMSTemplate(ctx context.Context, now time.Time, tenant string, id int64, active bool) error {
	return s.db.change(ctx, now, "change an SMS template", func(t *Tx) error {
		at, err := t.now()
		if err != nil {
			return err
		}
		n, err := t.exec("UPDATE posthouse_sms_texts SET active = ?, updated_at = ? WHERE tenant = ? AND id = ?", flag(active), at, tenant, id)
		if err == nil && n == 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no SMS template %d", id)
		}
		return err
	})
}

// SMSTemplates lists the templates of a tenant by number.
func (s Texts) SMSTemplates(ctx context.Context, tenant string) ([]work.SMSTemplate, error) {
	list, err := all(s.db.reads(ctx), readText, "SELECT "+textColumns+" FROM posthouse_sms_texts WHERE tenant = ? ORDER BY id", tenant)
	return list, s.db.toError(err, "list the SMS templates")
}

const defaultColumns = "tenant, phone, body, templated, generation, sent, created_at, updated_at"

func readDefault(scan scanner) (work.DefaultSMS, error) {
	var d work.DefaultSMS
	var templated, sent, created, updated int64
	err := scan(&d.Tenant, &d.Phone, &d.Text, &templated, &d.Generation, &sent, &created, &updated)
	d.Templated, d.Sent, d.CreatedAt, d.UpdatedAt = templated != 0, sent != 0, timeOf(created), timeOf(updated)
	return d, err
}

// PutDefaultSMS sets what a phone is sent without a content, as a new generation: it may be taken once more, but
// where d is Sent. It returns what is stored.
func (s Texts) PutDefaultSMS(ctx context.Context, now time.Time, d work.DefaultSMS) (work.DefaultSMS, error) {
	put := d
	err := s.db.change(ctx, now, "store a default SMS", func(t *Tx) error {
		if err := t.serialize(); err != nil {
			return err
		}
		at, err := t.now()
		if err != nil {
			return err
		}
		old, found, err := first(t.query, readDefault, "SELECT "+defaultColumns+" FROM posthouse_default_sms WHERE tenant = ? AND phone = ?", d.Tenant, d.Phone)
		if err != nil {
			return err
		}
		put = d
		put.Generation, put.CreatedAt, put.UpdatedAt = old.Generation+1, timeOf(at), timeOf(at)
		if found {
			put.CreatedAt = old.CreatedAt
			_, err = t.exec("UPDATE posthouse_default_sms SET body = ?, templated = ?, generation = ?, sent = ?, updated_at = ? WHERE tenant = ? AND phone = ?",
				d.Text, flag(d.Templated), put.Generation, flag(d.Sent), at, d.Tenant, d.Phone)
			return err
		}
		_, err = t.exec("INSERT INTO posthouse_default_sms ("+defaultColumns+") VALUES ("+marks(8)+")",
			d.Tenant, d.Phone, d.Text, flag(d.Templated), put.Generation, flag(d.Sent), at, at)
		return err
	})
	return put, err
}

// DefaultSMS reads a phone's default content, and whether a message on the channel has taken it.
func (s Texts) DefaultSMS(ctx context.Context, tenant, channel, phone string) (d work.DefaultSMS, found bool, err error) {
	d, found, err = first(s.db.reads(ctx), readDefault, "SELECT "+defaultColumns+" FROM posthouse_default_sms WHERE tenant = ? AND phone = ?", tenant, phone)
	if err != nil || !found || d.Sent {
		return d, found, s.db.toError(err, "read a default SMS")
	}
	_, d.Sent, err = first(s.db.reads(ctx), word, "SELECT message_id FROM posthouse_dedup WHERE tenant = ? AND channel = ? AND dedup_key = ?", tenant, channel, d.DedupKey())
	return d, found, s.db.toError(err, "read a default SMS")
}
