package lksms

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/phone"
	"github.com/posthouse/posthouse/internal/sms"
)

// The kind of a task's message, and the endpoint that the Idempotency-Keys of tasks belong to.
const (
	kind     = "sms"
	endpoint = "lksms"
)

// hidden stands where a sensitive text would.
const hidden = "******"

// sends takes texts in, from those who have them sent.
type sends struct{ *door }

// sendBody is a text for a phone.
type sendBody struct {
	phone, content, source text
	useTemplate            flag
	sensitive              veil
}

func (b *sendBody) fields() map[string]json.Unmarshaler {
	return map[string]json.Unmarshaler{
		"phone_number": &b.phone, "content": &b.content, "use_template": &b.useTemplate, "source": &b.source, "sensitive": &b.sensitive,
	}
}

// sent is a task that was taken in.
type sent struct {
	TaskID  string `json:"task_id"`
	Status  int    `json:"status"`
	Content string `json:"final_content"`
}

func (d sends) send(c *call) (answer, error) {
	c.line = received(c)
	in, req, err := d.readSend(c)
	if err != nil {
		return answer{}, err
	}
	if before, found, err := d.before(c, req); err != nil || found {
		return before, err
	}
	m, err := d.draft(c, in)
	if err != nil {
		return d.orBefore(c, req, err)
	}
	req.Drafts = []posthouse.Draft{m}
	out, err := d.Engine.Accept(c.Context(), req)
	switch {
	case err != nil:
		return answer{}, err
	case out.Replayed:
		return d.again(c, out.Accepted[0])
	case out.Accepted[0].DuplicateOf != "":
		return d.orBefore(c, req, errTaken)
	}
	return d.taken(c, out.Accepted[0], m.Content.Text, m.Sensitive)
}

// readSend reads the body of a request, and what makes a repeat of it known.
func (d sends) readSend(c *call) (in sendBody, req intake.Request, err error) {
	body, err := d.body(c)
	if err != nil {
		return in, req, err
	}
	err = decode(body, in.fields())
	d.describe(c.line, &in, body)
	if err == nil && in.phone == "" {
		err = malformed("phone_number is required: the number of the phone")
	}
	key := c.Header.Get("Idempotency-Key")
	if err == nil && (len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })) {
		err = refuse(http.StatusBadRequest, "the Idempotency-Key is no text of 1 to 255 printable ASCII characters")
	}
	hash := sha256.Sum256(body)
	return in, intake.Request{Tenant: c.who.tenant, Caller: c.who.behalf(), Endpoint: endpoint, Key: key, Hash: hex.EncodeToString(hash[:])}, err
}

// before answers a repeat of a request that was taken in, as far as its Idempotency-Key tells. It is asked
// first: the templates and default contents of the first time may be others now.
func (d sends) before(c *call, req intake.Request) (_ answer, found bool, _ error) {
	if req.Key == "" {
		return answer{}, false, nil
	}
	kept, found, err := d.Store.Answer(c.Context(), req.Tenant, endpoint, req.Key, req.Hash)
	if err != nil || !found {
		return answer{}, false, err
	}
	var accepted []posthouse.Accepted
	if json.Unmarshal(kept, &accepted) != nil || len(accepted) != 1 {
		return answer{}, false, nil //nolint:nilerr // accepting it says what is wrong
	}
	a, err := d.again(c, accepted[0])
	return a, true, err
}

// orBefore returns the stored answer if another request with the key won, which may have caused
// the refusal of this one.
func (d sends) orBefore(c *call, req intake.Request, refused error) (answer, error) {
	if before, found, err := d.before(c, req); err != nil || found {
		return before, err
	}
	return answer{}, refused
}

// again answers with a task that was taken in before.
func (d sends) again(c *call, a posthouse.Accepted) (answer, error) {
	if a.DuplicateOf != "" {
		return answer{}, errTaken
	}
	m, _, err := d.Reader.Messages.Message(c.Context(), c.who.viewer(), a.ID)
	if err != nil {
		return answer{}, err
	}
	return d.taken(c, a, m.Content.Text, m.Sensitive)
}

// taken answers with a new task. What its text takes on the air stands in the header, because the body is
// the document's.
func (d sends) taken(c *call, a posthouse.Accepted, text string, sensitive bool) (answer, error) {
	task := a.Deliveries[0]
	c.line.Delivery = task.ID
	out := answer{data: sent{task.ID, status(task.State), text}, header: sizeHeader(text)}
	if sensitive {
		out.data = sent{task.ID, status(task.State), hidden}
	}
	return out, nil
}

// sizeHeader tells how many parts a text is sent in.
func sizeHeader(text string) http.Header {
	if text == "" {
		return nil
	}
	size := sms.Parts(text)
	return http.Header{"X-Sms-Parts": {strconv.Itoa(size.Parts)}, "X-Sms-Encoding": {string(size.Encoding)}}
}

var (
	errTaken    = &refusal{http.StatusBadRequest, "content is empty, and the default content of this phone_number was sent already"}
	errNothing  = &refusal{http.StatusBadRequest, "content is empty, and this phone_number has no default content"}
	errTemplate = &refusal{http.StatusBadRequest, "use_template is set, and there is no active template"}
)

// draft makes the message of a task.
func (d sends) draft(c *call, in sendBody) (posthouse.Draft, error) {
	to, odd := anyNumber(string(in.phone))
	if odd != nil && in.content != "" {
		return posthouse.Draft{}, odd
	}
	m := posthouse.Draft{
		Channel: d.Channel, Kind: kind, To: []posthouse.Recipient{{Address: to}}, Source: string(in.source),
		Sensitive: d.Sensitive || bool(in.sensitive),
	}
	content, templated := string(in.content), bool(in.useTemplate)
	if content == "" { // its own use_template then counts
		def, found, err := d.Texts.DefaultSMS(c.Context(), c.who.tenant, d.Channel, to)
		switch {
		case err != nil:
			return m, err
		case !found && odd != nil:
			return m, odd
		case !found:
			return m, errNothing
		case def.Sent:
			return m, errTaken
		}
		content, templated = def.Text, def.Templated
		m.DedupKey, m.DedupWindow = def.DedupKey(), posthouse.Duration(draft.MaxDedupWindow)
	}
	filled, err := d.fill(c, content, templated)
	m.Content = &posthouse.Content{Text: filled}
	return m, err
}

// fill is the text that goes out.
func (d sends) fill(c *call, content string, templated bool) (string, error) {
	if templated {
		list, err := d.Texts.SMSTemplates(c.Context(), c.who.tenant)
		if err != nil {
			return "", err
		}
		template, found := firstActive(list)
		if !found {
			return "", errTemplate
		}
		if content, err = sms.Fill(template.Text, content); err != nil {
			return "", refuse(http.StatusBadRequest, "%v", err)
		}
	}
	return content, checkText("content", content, sms.MaxCharacters)
}

// checkText refuses a text that is blank or too long.
func checkText(field, content string, most int) error {
	if n := utf8.RuneCountInString(content); n > most {
		return refuse(http.StatusBadRequest, "%s has %d characters: at most %d are allowed", field, n, most)
	}
	if channel.Blank(content) {
		return refuse(http.StatusBadRequest, "%s is blank", field)
	}
	return nil
}

// number reads the number of a mobile phone.
func number(given string) (phone.Number, error) {
	n, err := phone.Parse(given, phone.Home)
	if err != nil {
		return n, refuse(http.StatusBadRequest, "phone_number %v", err)
	}
	if !n.Mobile {
		return n, refuse(http.StatusBadRequest, "phone_number is no mobile number: text messages do not arrive at it")
	}
	return n, nil
}

// anyNumber is a number in E.164, or as it is written where it is no mobile number, and then why. A default content that was
// brought over may be of such a phone.
func anyNumber(given string) (string, error) {
	n, err := number(given)
	if err == nil {
		return n.E164, nil
	}
	if n, e := phone.Parse(given, phone.Home); e == nil {
		return n.E164, err
	}
	return clipped(given, 128), err
}

// local is a number as senders and apps of the mainland write it; others keep their plus.
func local(address string) string {
	if n, err := phone.Parse(address, ""); err == nil && n.Region == phone.Home {
		return n.National
	}
	return address
}
