package lksms

import (
	"cmp"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/sms"
	"github.com/posthouse/posthouse/internal/work"
)

// maxTemplateName is how long a template's name may be, in characters.
const maxTemplateName = 100

// library keeps templates, and what phones are sent without a content.
type library struct{ *door }

// template is a template as it is answered.
type template struct {
	ID           int64    `json:"id"`
	Name         string   `json:"template_name"`
	Text         string   `json:"template_content"`
	Active       bool     `json:"is_active"`
	Placeholders []string `json:"placeholders"`
	CreatedAt    string   `json:"created_at"`
	UpdatedAt    string   `json:"updated_at"`
}

func (d library) shown(t work.SMSTemplate) template {
	return template{t.ID, t.Name, t.Text, t.Active, append([]string{}, sms.Placeholders(t.Text)...), d.at(t.CreatedAt), d.at(t.UpdatedAt)}
}

// firstActive is the template that is used: the active one of the lowest number.
func firstActive(list []work.SMSTemplate) (work.SMSTemplate, bool) {
	var first work.SMSTemplate
	for _, t := range list {
		if t.Active && (first.ID == 0 || t.ID < first.ID) {
			first = t
		}
	}
	return first, first.ID != 0
}

func (d library) addTemplate(c *call) (answer, error) {
	body, err := d.body(c)
	if err != nil {
		return answer{}, err
	}
	var name, content text
	active := flag(true)
	if err := decode(body, map[string]json.Unmarshaler{"template_name": &name, "template_content": &content, "is_active": &active}); err != nil {
		return answer{}, err
	}
	if err := checkText("template_name", string(name), maxTemplateName); err != nil {
		return answer{}, err
	}
	if err := checkText("template_content", string(content), sms.MaxCharacters); err != nil {
		return answer{}, err
	}
	t, err := d.Texts.AddSMSTemplate(c.Context(), time.Now(), work.SMSTemplate{Tenant: c.who.tenant, Name: string(name), Text: string(content), Active: bool(active)})
	if err != nil {
		return answer{}, err
	}
	c.changed(strconv.FormatInt(t.ID, 10), nil, d.shown(t))
	return ok(d.shown(t))
}

func (d library) templates(c *call) (answer, error) {
	list, err := d.Texts.SMSTemplates(c.Context(), c.who.tenant)
	out := make([]template, len(list))
	for i, t := range list {
		out[i] = d.shown(t)
	}
	return answer{data: out}, err
}

func (d library) setTemplate(c *call) (answer, error) {
	body, err := d.body(c)
	if err != nil {
		return answer{}, err
	}
	id, err := strconv.ParseInt(c.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return answer{}, refuse(http.StatusNotFound, "there is no template %.60q", c.PathValue("id"))
	}
	var active flag
	if err := decode(body, map[string]json.Unmarshaler{"is_active": &active}); err != nil {
		return answer{}, err
	}
	if given, _ := objectOf(body); cmp.Or(string(given["is_active"]), "null") == "null" {
		return answer{}, malformed("is_active is required: true or false")
	}
	if err := d.Texts.SetSMSTemplate(c.Context(), time.Now(), c.who.tenant, id, bool(active)); err != nil {
		return answer{}, err
	}
	c.changed(c.PathValue("id"), nil, map[string]bool{"is_active": bool(active)})
	return d.templates(c)
}

// defaultText is what a phone is sent without a content.
type defaultText struct {
	ID          int64  `json:"id"`
	Phone       string `json:"phone_number"`
	Content     string `json:"content"`
	UseTemplate bool   `json:"use_template"`
	Sent        bool   `json:"is_sent"`
	CreatedAt   string `json:"created_at"`
	UpdatedAt   string `json:"updated_at"`
}

func (d library) shownDefault(def work.DefaultSMS) defaultText {
	return defaultText{numberOf(def.Phone), local(def.Phone), def.Text, def.Templated, def.Sent, d.at(def.CreatedAt), d.at(def.UpdatedAt)}
}

// numberOf is the number that a default content is known by: its phone's digits, of which there is one a tenant. A number
// that is none, brought over from elsewhere, has the number of its text.
func numberOf(phone string) int64 {
	if n, err := strconv.ParseInt(strings.TrimPrefix(phone, "+"), 10, 64); err == nil {
		return n
	}
	return int64(crc32.ChecksumIEEE([]byte(phone)))
}

// putDefault sets a phone's default content. One that was sent can be sent once more where its content changes, or
// where rearm says so: setting the same again is a repeat.
func (d library) putDefault(c *call) (answer, error) {
	body, err := d.body(c)
	if err != nil {
		return answer{}, err
	}
	var given, content text
	var templated, rearm flag
	if err := decode(body, map[string]json.Unmarshaler{"phone_number": &given, "content": &content, "use_template": &templated, "rearm": &rearm}); err != nil {
		return answer{}, err
	}
	n, err := number(string(given))
	if err != nil {
		return answer{}, err
	}
	if err := checkText("content", string(content), sms.MaxCharacters); err != nil {
		return answer{}, err
	}
	if templated { // the template may come later, and be another
		if _, err := sms.Fill("", string(content)); err != nil {
			return answer{}, refuse(http.StatusBadRequest, "%v", err)
		}
	}
	old, found, err := d.Texts.DefaultSMS(c.Context(), c.who.tenant, d.Channel, n.E164)
	if err != nil {
		return answer{}, err
	}
	if found && !bool(rearm) && old.Text == string(content) && old.Templated == bool(templated) {
		c.change.none = true
		return ok(d.shownDefault(old))
	}
	def, err := d.Texts.PutDefaultSMS(c.Context(), time.Now(), work.DefaultSMS{Tenant: c.who.tenant, Phone: n.E164, Text: string(content), Templated: bool(templated)})
	if err != nil {
		return answer{}, err
	}
	c.changed(def.Phone, d.audited(old, found), d.audited(def, true))
	return ok(d.shownDefault(def))
}

// audited is a default content as the audit log shows it, nil for none: where texts are sensitive, without its own.
func (d library) audited(def work.DefaultSMS, found bool) any {
	if !found {
		return nil
	}
	shown := d.shownDefault(def)
	if d.Sensitive {
		shown.Content = hidden
	}
	return shown
}

func (d library) defaultOf(c *call) (answer, error) {
	n, odd := anyNumber(c.PathValue("phone_number"))
	def, found, err := d.Texts.DefaultSMS(c.Context(), c.who.tenant, d.Channel, n)
	switch {
	case err != nil:
		return answer{}, err
	case !found && odd != nil:
		return answer{}, odd
	case !found:
		return answer{}, refuse(http.StatusNotFound, "this phone_number has no default content")
	}
	return ok(d.shownDefault(def))
}
