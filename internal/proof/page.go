package proof

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

//go:embed page.html style.css
var files embed.FS

// drawing is what each page is drawn with.
var drawing = sync.OnceValues(func() (*template.Template, error) { return template.ParseFS(files, "page.html") })

// style is the page's style, and the policy that lets a browser use it and nothing else.
var style = sync.OnceValues(func() (text, policy string) {
	raw, _ := files.ReadFile("style.css") // it is embedded
	sum := sha256.Sum256(raw)
	return string(raw), "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
})

// Policy is the Content-Security-Policy of a page.
func Policy() string {
	_, policy := style()
	return policy
}

// drawn is what a page is drawn of.
type drawn struct {
	wire.Proof
	S           wire.ProofStatement
	Fingerprint string
	Lang        string
	// Zone is that of the times, by its name or as an offset, and Drawing names what draws pages: with both, the page can be drawn again.
	Zone    string
	Drawing string
	Policy  string
	// File is the proof itself, as a link within the page.
	File  template.URL
	Style template.CSS
	words map[string]string
	zone  *time.Location
}

// Page draws a proof as a page that needs nothing else, in Chinese or English, with the times of a zone: it is read, printed, or kept as PDF.
func Page(p wire.Proof, chinese bool, zone *time.Location) ([]byte, error) {
	s, err := p.ReadStatement()
	if err != nil {
		return nil, fmt.Errorf("read the statement: %w", err)
	}
	page, err := drawing()
	if err != nil {
		return nil, fmt.Errorf("read the page of proofs: %w", err)
	}
	d := drawn{Proof: p, S: s, Lang: langEnglish, Drawing: drawer(), words: english()}
	d.Zone, d.zone = zoneOf(zone, s.MadeAt)
	if chinese {
		d.Lang, d.words = langChinese, chineseWords()
	}
	if keys, err := publicKeys([]byte(p.PublicKey)); err == nil && len(keys) == 1 {
		d.Fingerprint = secret.PublicKeyOf(keys[0]).Fingerprint
	}
	file, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write the proof: %w", err)
	}
	d.File = template.URL(pageFile + base64.StdEncoding.EncodeToString(file)) //nolint:gosec // base64 of what was marshalled here
	text, policy := style()
	d.Style, d.Policy = template.CSS(text), policy //nolint:gosec // our own file
	var out bytes.Buffer
	err = page.Execute(&out, d)
	return web.Marked(out.Bytes()), err
}

// T is a text in the page's language, or the word itself where it has none.
func (d drawn) T(word string) string {
	if text := d.words[word]; text != "" {
		return text
	}
	return word
}

// Note is a note's sentence in the page's language.
func (d drawn) Note(n wire.ProofNote) string {
	if text := d.words["note_"+n.Code]; text != "" {
		return text
	}
	return n.Text
}

// At is a time as it is shown, with its offset.
func (d drawn) At(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(d.zone).Format("2006-01-02 15:04:05.000 -07:00")
}

// Reason is why something is in its state, in words where the page's language has them.
func (d drawn) Reason(code string) string {
	if d.Lang == langEnglish {
		return code
	}
	return catalog.Reason(code)
}

// Says are sentences of the server's in the page's language, as far as they are known there.
func (d drawn) Says(text string) string {
	if d.Lang == langEnglish {
		return text
	}
	list := strings.Split(text, "; ")
	for i := range list {
		list[i], _ = catalog.Chinese(list[i])
	}
	return strings.Join(list, "; ")
}

// Sealed is what the hash chain says of a notification's acknowledgement, nil where there is none.
func (d drawn) Sealed(notification string) *wire.ProofChain {
	for i := range d.S.Acks {
		if d.S.Acks[i].Notification == notification {
			return &d.S.Acks[i].Chain
		}
	}
	return nil
}

// Content is what a message says: of a part without one of its own, the statement's; of one whose content was revealed, that.
func (d drawn) Content(p wire.ProofPart) posthouse.Content {
	m := d.S.Message
	if p.Message != nil {
		m = *p.Message
	}
	if p.Hidden != nil && p.Hidden.Text != "" {
		var shown wire.Revealed
		if json.Unmarshal([]byte(p.Hidden.Text), &shown) == nil {
			return shown.Content
		}
	}
	return m.Content
}

// Channel is where a part went.
func (d drawn) Channel(p wire.ProofPart) string {
	if p.Message != nil {
		return p.Message.Channel
	}
	return d.S.Message.Channel
}

// To are those whom a notification means.
func (d drawn) To(list []posthouse.Recipient) string {
	var names []string
	for _, to := range list {
		names = append(names, strings.TrimSpace(to.User+" "+to.Address))
	}
	return strings.Join(names, ", ")
}

// Since is when a delivery came into its state: for one that has settled, the time of the event that settled it. What follows and leaves the state
// as it is, such as a recall, has times of its own. Each statement has these events, so those of earlier versions say the same. Where there
// was no room for them it is when the delivery last changed.
func Since(d *wire.ProofDelivery) time.Time {
	since := d.Delivery.UpdatedAt
	if d.Delivery.State.Open() || d.More {
		return since
	}
	for _, e := range slices.Backward(d.Events) {
		if e.To != d.Delivery.State {
			break
		}
		since = e.At
	}
	return since
}

// Since is the package's, for the page.
func (d drawn) Since(of wire.ProofDelivery) time.Time { return Since(&of) }

// Receipts are the events of a delivery that somebody else's word made: a receipt, the answer of a query, a person.
func (d drawn) Receipts(events []posthouse.Event) (list []posthouse.Event) {
	for _, e := range events {
		switch e.Type {
		case posthouse.EventReceipt, posthouse.EventEvidence, posthouse.EventResolve, posthouse.EventRecall:
			list = append(list, e)
		}
	}
	return list
}
