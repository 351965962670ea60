package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// PULL-4: the first active template by its number.
func TestSMSTemplatesAreNumberedByTenant(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, tmpl := range []work.SMSTemplate{
			{Tenant: "t1", Name: "验证码", Text: "您的验证码是{code}", Active: true}, {Tenant: "t2", Text: "其他"}, {Tenant: "t1", Text: "第二个"},
		} {
			got, err := s.Texts.AddSMSTemplate(t.Context(), at(), tmpl)
			tmpl.ID, tmpl.CreatedAt, tmpl.UpdatedAt = got.ID, got.CreatedAt, got.UpdatedAt
			if diff := cmp.Diff(tmpl, got); err != nil || diff != "" || got.CreatedAt.IsZero() {
				t.Errorf("added: %v\n%s", err, diff)
			}
		}
		if err := s.Texts.SetSMSTemplate(t.Context(), at(), "t1", 1, false); err != nil {
			t.Fatal(err)
		}
		wantCode(t, s.Texts.SetSMSTemplate(t.Context(), at(), "t2", 2, false), posthouse.CodeNotFound)
		list, err := s.Texts.SMSTemplates(t.Context(), "t1")
		if err != nil || len(list) != 2 || list[0].ID != 1 || list[0].Active || list[0].Name != "验证码" || list[1].ID != 2 {
			t.Errorf("templates = %+v, %v", list, err)
		}
		tamper(t, s, "UPDATE posthouse_sms_texts SET id = 1000 WHERE tenant = 't1' AND id = 2")
		_, err = s.Texts.AddSMSTemplate(t.Context(), at(), work.SMSTemplate{Tenant: "t1", Text: "one too many"})
		wantCode(t, err, posthouse.CodeConflict)
	})
}

// PULL-3: whoever takes the default content has its dedup key; setting it again makes a new key.
func TestDefaultSMSIsTakenOnceAGeneration(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const phone = "+8613800138000"
		read := func() work.DefaultSMS {
			t.Helper()
			d, found, err := s.Texts.DefaultSMS(t.Context(), "t1", "c1", phone)
			if err != nil || !found {
				t.Fatal(found, err)
			}
			return d
		}
		if _, found, err := s.Texts.DefaultSMS(t.Context(), "t1", "c1", phone); found || err != nil {
			t.Errorf("before it is set: %v, %v", found, err)
		}
		put := func(sent bool) work.DefaultSMS {
			t.Helper()
			d, err := s.Texts.PutDefaultSMS(t.Context(), at(), work.DefaultSMS{Tenant: "t1", Phone: phone, Text: "您好", Templated: true, Sent: sent})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		first := put(false)
		if diff := cmp.Diff(first, read()); diff != "" || first.Generation != 1 || first.Text != "您好" || !first.Templated {
			t.Errorf("set = %+v\n%s", first, diff)
		}
		accept(t, s, entry(1, pulled, dedup(first.DedupKey())))
		if !read().Sent {
			t.Error("a message has taken it, and it is not sent")
		}
		if d, found, err := s.Texts.DefaultSMS(t.Context(), "t1", "c2", phone); d.Sent || !found || err != nil {
			t.Errorf("on another channel: %+v, %v", d, err)
		}
		if d := put(false); d.Generation != 2 || read().Sent || !d.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("set again = %+v, stored %+v", d, read())
		}
		if put(true); !read().Sent {
			t.Error("imported as sent, and it is not")
		}
	})
}

func dedup(key string) func(*work.Entry) {
	return func(e *work.Entry) { e.Message.DedupKey = key }
}
