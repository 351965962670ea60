package proof

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/wire"
)

// made is a proof with a good signature.
func made(t *testing.T) wire.Proof {
	t.Helper()
	ring, err := secret.New(secret.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	m, at := posthouse.NewID(), time.Date(2026, 7, 28, 1, 2, 3, 0, time.UTC)
	key := Signing(ring)
	text, err := json.Marshal(wire.ProofStatement{
		Format: wire.ProofFormat, MadeAt: at, KeyID: key.ID, Tenant: "bank", Message: posthouse.Message{ID: m, Channel: "sms", CreatedAt: at}, Recipients: 1,
		Parts: []wire.ProofPart{{ID: m, Chain: wire.ProofChain{State: wire.ProofChainOff}, Deliveries: []wire.ProofDelivery{{Delivery: posthouse.Delivery{
			ID: posthouse.DeliveryID(m, 1), Recipient: posthouse.Recipient{User: "li.na"}, Channel: "sms", State: posthouse.Cancelled, UpdatedAt: at,
		}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return signed(text, key, ring.Sign(text))
}

// carrying puts a proof into its page with another file than the one that it was drawn of.
func carrying(t *testing.T, page string, p wire.Proof) string {
	t.Helper()
	file, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(page, `href="`+pageFile)
	_, after, _ := strings.Cut(rest, `"`)
	return before + `href="` + pageFile + strings.ReplaceAll(base64.StdEncoding.EncodeToString(file), "+", "&#43;") + `"` + after
}

// A page is taken as it was drawn, in each language and zone. One that shows something else than its statement is refused, whatever it says
// of itself, and so is what nobody has signed around the statement. The statement is returned all the same where that is good.
func TestAPageThatShowsSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	p := made(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, zone := range []*time.Location{nil, time.UTC, time.Local, berlin, time.FixedZone("", 8*3600), time.FixedZone("EST", 8*3600), time.FixedZone("", -16200)} {
		for _, chinese := range []bool{true, false} {
			drawn, err := Page(p, chinese, zone)
			if err != nil {
				t.Fatal(err)
			}
			if found, err := Check(drawn, []byte(p.PublicKey)); err != nil || !found.Page || !found.Known {
				t.Errorf("zone %v, chinese %t: %v", zone, chinese, err)
			}
		}
	}
	drawn, err := Page(p, true, berlin)
	if err != nil {
		t.Fatal(err)
	}
	page := string(drawn)
	added := p
	added.PublicKey = "To whom it may concern: it was delivered.\n" + p.PublicKey
	ordered := p
	ordered.Check = []string{"echo Signature Verified Successfully"}
	renamed := p
	renamed.KeyID = "0000000000000000"
	redrawn := func(p wire.Proof) string {
		text, err := Page(p, true, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, test := range map[string]struct {
		page string
		want error // nil for another one
	}{
		"another recipient":          {strings.Replace(page, "li.na", "DIRECTOR", 1), ErrPageChanged},
		"another outcome":            {strings.ReplaceAll(page, "已取消", "已送达"), ErrPageChanged},
		"another zone":               {strings.Replace(page, "Europe/Berlin", "Asia/Shanghai", 1), ErrPageChanged},
		"another language":           {strings.Replace(page, `content="zh-CN `, `content="en `, 1), ErrPageChanged},
		"something behind it":        {page + "<p>delivered</p>", ErrPageChanged},
		"another version":            {strings.Replace(strings.Replace(page, drawer(), "0011223344556677", 1), "已取消", "已送达", 1), ErrPageOther},
		"no version":                 {strings.Replace(page, `<meta name="drawn"`, `<meta name="is"`, 1), ErrPageOther},
		"a zone that is none":        {strings.Replace(page, "Europe/Berlin", "../../x", 1), ErrPageOther},
		"a text before the key":      {redrawn(added), nil},
		"other commands":             {redrawn(ordered), ErrPageChanged},
		"another name of the key":    {redrawn(renamed), nil},
		"another file than it shows": {carrying(t, page, made(t)), ErrPageChanged},
	} {
		if test.page == page {
			t.Fatalf("%s: nothing was changed", name)
		}
		found, err := Check([]byte(test.page), nil)
		if err == nil || test.want != nil && (!errors.Is(err, test.want) || found.Statement.Tenant != "bank" || !found.Page) || test.want == nil && (errors.Is(err, ErrPageChanged) || errors.Is(err, ErrPageOther)) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if text, err := json.Marshal(added); err != nil {
		t.Error(err)
	} else if _, err := Check(text, []byte(p.PublicKey)); err == nil || !strings.Contains(err.Error(), "public_key") {
		t.Errorf("a file with a text before its key: %v", err)
	}
}

// A proof that can be read in two ways is refused: jq and openssl may be given another statement than what was checked here.
func TestAProofIsReadInOneWayAlone(t *testing.T) {
	t.Parallel()
	p := made(t)
	file, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Check(file, []byte(p.PublicKey)); err != nil {
		t.Fatalf("as it was made: %v", err)
	}
	for name, more := range map[string]string{
		"a name that stands twice":              `"statement":"{}",`,
		"one that differs by its case":          `"Statement":"{}",`,
		"a name that no proof has":              `"judgement":"told",`,
		"another check than what is shown here": `"check":[],`,
	} {
		changed := append([]byte("{"+more), file[1:]...)
		if _, err := Check(changed, []byte(p.PublicKey)); err == nil || !strings.Contains(err.Error(), "not a proof as it was made") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
