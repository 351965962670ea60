package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/wire"
)

// What is wrong with a page whose statement is good. The signature covers the statement alone: the page is drawn anew from it and compared.
// A page that cannot be compared is refused too, since the page itself says which program drew it.
var (
	ErrPageChanged = errors.New("the page does not show what its statement says: it was changed after it was made, or stored anew by another program. What counts is the statement")
	ErrPageOther   = errors.New("the page was drawn by another version of Posthouse, so what it shows cannot be compared. What counts is the statement: check the file proof.json, or what is printed here")
)

// The languages of pages.
const (
	langEnglish = "en"
	langChinese = "zh-CN"
)

// pageFile begins the link by which a page carries its proof.
const pageFile = "data:application/json;base64,"

// inPage is, of the file of a page, the proof that it carries; another file is left as it is.
func inPage(file []byte) (text []byte, page bool) {
	_, rest, found := bytes.Cut(file, []byte(`href="`+pageFile))
	encoded, _, ended := bytes.Cut(rest, []byte(`"`))
	if !found || !ended {
		return file, false
	}
	text, err := base64.StdEncoding.DecodeString(html.UnescapeString(string(encoded)))
	if err != nil {
		return file, false
	}
	return text, true
}

// drawer names what draws pages: the same name draws the same page of the same statement.
var drawer = sync.OnceValue(func() string {
	sum := sha256.New()
	for _, name := range []string{"page.html", "style.css"} {
		raw, _ := files.ReadFile(name) // it is embedded
		fmt.Fprintf(sum, "%d %s", len(raw), raw)
	}
	for _, words := range []map[string]string{english(), chineseWords()} {
		for _, key := range slices.Sorted(maps.Keys(words)) {
			fmt.Fprintf(sum, "%q %q ", key, words[key])
		}
	}
	for _, s := range slices.Concat(catalog.Sentences(), catalog.Words()) {
		fmt.Fprintf(sum, "%q %q ", s.English, s.Chinese)
	}
	fmt.Fprint(sum, runtime.Version()) // its templates may escape in another way
	return hex.EncodeToString(sum.Sum(nil)[:8])
})

// zoneOf is a zone that can be found again by its name. One that only this machine knows is the offset that it had when the statement was made.
func zoneOf(zone *time.Location, at time.Time) (name string, same *time.Location) {
	if zone == nil {
		zone = time.UTC
	}
	_, offset := at.In(zone).Zone()
	if zone != time.Local && zone.String() != "" {
		if found, err := time.LoadLocation(zone.String()); err == nil {
			if _, there := at.In(found).Zone(); there == offset {
				return zone.String(), found
			}
		}
	}
	name = at.In(zone).Format("-07:00")
	return name, time.FixedZone("", offset/60*60)
}

// zoneNamed reads what zoneOf has named.
func zoneNamed(name string) (*time.Location, error) {
	if at, err := time.Parse("-07:00", name); err == nil {
		_, offset := at.Zone()
		return time.FixedZone("", offset), nil
	}
	if name == "" || name == "Local" || len(name) > 64 {
		return nil, fmt.Errorf("%.64q is no zone", name)
	}
	return time.LoadLocation(name)
}

// same finds out whether a page shows what its proof says, and nothing else.
func same(page []byte, p wire.Proof) error {
	_, rest, _ := bytes.Cut(page, []byte(`<meta name="drawn" content="`))
	said, _, found := bytes.Cut(rest[:min(len(rest), 200)], []byte(`">`))
	words := strings.Fields(html.UnescapeString(string(said)))
	if !found || len(words) != 3 || words[2] != drawer() {
		return ErrPageOther
	}
	zone, err := zoneNamed(words[1])
	if err != nil {
		return ErrPageOther
	}
	again, err := Page(p, words[0] == langChinese, zone)
	if err != nil {
		return err
	}
	if !bytes.Equal(page, again) || !slices.Equal(p.Check, Commands()) { // the commands are shown, and nobody signs them
		return ErrPageChanged
	}
	return nil
}
