package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Templates are texts with placeholders, in versions.
type Templates struct{ db *sqldb.DB }

const templateColumns = "tenant, name, version, title, body, lenient, external_id, parameters, disabled, created_at, language, texts"

// PutTemplate stores a new version of a template and returns it. One that equals the latest version
// makes none: whether it is disabled is no part of that, and is changed in its place.
func (s Templates) PutTemplate(ctx context.Context, now time.Time, tmpl posthouse.Template) (posthouse.Template, error) {
	put := tmpl
	err := s.db.Change(ctx, now, "store a template", func(t *sqldb.Tx) error {
		put = tmpl
		if err := t.Serialize(); err != nil {
			return err
		}
		latest, found, err := latestTemplate(t.Query, tmpl.Tenant, tmpl.Name)
		if err != nil {
			return err
		}
		if err := work.OnlyOf(ctx).Check("template", tmpl.Name, tagOf(latest, found)); err != nil {
			return err
		}
		if found && sameTemplate(&latest, &tmpl) {
			put.Version, put.CreatedAt = latest.Version, latest.CreatedAt
			_, err := t.Exec("UPDATE posthouse_templates SET disabled = ? WHERE tenant = ? AND name = ? AND version = ?",
				sqldb.Flag(put.Disabled), put.Tenant, put.Name, put.Version)
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		parameters, err := parametersText(put.Parameters)
		if err != nil {
			return err
		}
		texts, err := textsText(&put)
		if err != nil {
			return err
		}
		put.Version, put.CreatedAt = latest.Version+1, sqldb.TimeOf(at)
		_, err = t.Exec("INSERT INTO posthouse_templates ("+templateColumns+") VALUES ("+sqldb.Marks(12)+")",
			put.Tenant, put.Name, put.Version, put.Title, put.Text, sqldb.Flag(put.Lenient), put.ExternalID, parameters, sqldb.Flag(put.Disabled), at, put.Language, texts)
		return err
	})
	return put, err
}

// sameTemplate reports whether two templates make the same of a payload.
func sameTemplate(a, b *posthouse.Template) bool {
	return a.Title == b.Title && a.Text == b.Text && a.Type == b.Type && bytes.Equal(a.Extra, b.Extra) && a.Lenient == b.Lenient && a.ExternalID == b.ExternalID &&
		maps.Equal(a.Parameters, b.Parameters) && a.Language == b.Language && maps.EqualFunc(a.Texts, b.Texts, func(a, b posthouse.TemplateText) bool {
		return a.Title == b.Title && a.Text == b.Text && bytes.Equal(a.Extra, b.Extra)
	})
}

// parametersText is how the parameters of a template are stored, empty for none.
func parametersText(p map[string]string) (string, error) {
	if len(p) == 0 {
		return "", nil
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// said is how what a template says beside its title and text is stored: by language, and by the empty one its own type and extra.
type said struct {
	posthouse.TemplateText
	Type posthouse.ContentType `json:"type,omitempty"`
}

// textsText is how the texts in other languages are stored, with what the template's own has more than title and text; empty for none.
func textsText(t *posthouse.Template) (string, error) {
	texts := map[string]said{}
	for tag, text := range t.Texts {
		texts[tag] = said{TemplateText: text}
	}
	if t.Type != "" || len(t.Extra) > 0 {
		texts[""] = said{posthouse.TemplateText{Extra: t.Extra}, t.Type}
	}
	if len(texts) == 0 {
		return "", nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // what is read again equals what was stored
	err := encoder.Encode(texts)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// readTexts is textsText the other way.
func readTexts(text string, t *posthouse.Template) error {
	var texts map[string]said
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return err
	}
	t.Type, t.Extra = texts[""].Type, texts[""].Extra
	delete(texts, "")
	for tag, one := range texts {
		if t.Texts == nil {
			t.Texts = map[string]posthouse.TemplateText{}
		}
		t.Texts[tag] = one.TemplateText
	}
	return nil
}

func latestTemplate(from sqldb.Lookup, tenant, name string) (posthouse.Template, bool, error) {
	return sqldb.First(from, readTemplate, "SELECT "+templateColumns+" FROM posthouse_templates WHERE tenant = ? AND name = ? ORDER BY version DESC LIMIT 1", tenant, name)
}

// readTemplate reads the columns of templateColumns. Variables follow from the text: whoever
// parses it fills them in.
func readTemplate(scan sqldb.Scanner) (posthouse.Template, error) {
	var t posthouse.Template
	var lenient, disabled, created int64
	var parameters, texts string
	err := scan(&t.Tenant, &t.Name, &t.Version, &t.Title, &t.Text, &lenient, &t.ExternalID, &parameters, &disabled, &created, &t.Language, &texts)
	if err == nil {
		err = readTexts(texts, &t)
	}
	if err == nil && parameters != "" {
		err = json.Unmarshal([]byte(parameters), &t.Parameters)
	}
	t.Lenient, t.Disabled, t.CreatedAt = lenient != 0, disabled != 0, sqldb.TimeOf(created)
	return t, err
}

// Template reads one version of a template; version 0 means the latest.
func (s Templates) Template(ctx context.Context, tenant, name string, version int) (posthouse.Template, error) {
	var t posthouse.Template
	var found bool
	var err error
	if version == 0 {
		t, found, err = latestTemplate(s.db.Reads(ctx), tenant, name)
	} else {
		t, found, err = sqldb.First(s.db.Reads(ctx), readTemplate,
			"SELECT "+templateColumns+" FROM posthouse_templates WHERE tenant = ? AND name = ? AND version = ?", tenant, name, version)
	}
	if err != nil {
		return t, s.db.Coded(err, "read a template")
	}
	if !found {
		return t, noTemplate(name, version)
	}
	return t, nil
}

func noTemplate(name string, version int) error {
	if version == 0 {
		return posthouse.Errorf(posthouse.CodeNotFound, "there is no template %q", name)
	}
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no version %d of a template %q", version, name)
}

// Templates lists the latest version of each template of a tenant by name.
func (s Templates) Templates(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Template, next string, err error) {
	after, err := page.Key("templates", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readTemplate, "SELECT "+templateColumns+` FROM posthouse_templates t WHERE tenant = ? AND name > ?
		AND version = (SELECT MAX(version) FROM posthouse_templates l WHERE l.tenant = t.tenant AND l.name = t.name) ORDER BY name LIMIT ?`, tenant, after, size+1)
	list, next = page.Cut(list, size, "templates", func(t posthouse.Template) string { return t.Name })
	return list, next, s.db.Coded(err, "list the templates")
}

// DeleteTemplate deletes all versions of a template. Messages that were rendered with it keep
// their text.
func (s Templates) DeleteTemplate(ctx context.Context, tenant, name string) error {
	return s.db.Change(ctx, time.Time{}, "delete a template", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_templates WHERE tenant = ? AND name = ?", tenant, name)
		if err == nil && n == 0 {
			return noTemplate(name, 0)
		}
		return err
	})
}
