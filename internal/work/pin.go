package work

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/posthouse/posthouse"
)

// Pin says which accounts of a channel may send what waits in a lane, as the column pin holds it: empty for any of them,
// ByAccount or ByPool; or InLine for what none may send yet.
type Pin string

// Signs before the name in a pin. No name of an account or a pool begins with one.
const (
	accountSign = "="
	poolSign    = "~"
	lineSign    = "#"
	gatherSign  = "+"
)

// InCollection is the pin of what waits in a collection: no dispatcher and no agent asks for it.
const InCollection = Pin(gatherSign)

// FirstOfAccounts is the least pin of what certain accounts send: those of lines and collections are less.
const FirstOfAccounts = Pin(accountSign)

// ByAccount is the pin of what one account sends.
func ByAccount(name string) Pin { return Pin(accountSign + name) }

// ByPool is the pin of what any account of a pool sends.
func ByPool(label string) Pin { return Pin(poolSign + label) }

// InLine is the pin of what waits behind others that have the same ordering key.
func InLine(line string) Pin { return Pin(lineSign + line) }

// LineOf names the line of an ordering key. A key is any text, a pin a short word.
func LineOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base32.HexEncoding.EncodeToString(sum[:20])
}

// PinOf follows from the delivery alone: the writer of a row writes its pin.
func PinOf(d *posthouse.Delivery) Pin {
	switch {
	case d.Gathered:
		return InCollection
	case d.Line != "":
		return InLine(d.Line)
	case d.Pinned:
		return ByAccount(d.Account)
	case d.Pool != "":
		return ByPool(d.Pool)
	}
	return ""
}

// Line is the line of a pin, empty where it has none.
func (p Pin) Line() string {
	line, _ := strings.CutPrefix(string(p), lineSign)
	if len(line) == len(p) {
		return ""
	}
	return line
}

// Account is the one account of a pin, empty where it has several.
func (p Pin) Account() string {
	name, _ := strings.CutPrefix(string(p), accountSign)
	if len(name) == len(p) {
		return ""
	}
	return name
}

// Pool is the pool of a pin, empty where it has none.
func (p Pin) Pool() string {
	label, _ := strings.CutPrefix(string(p), poolSign)
	if len(label) == len(p) {
		return ""
	}
	return label
}

// Read puts into a delivery what its row's pin says.
func (p Pin) Read(d *posthouse.Delivery) {
	if name := p.Account(); name != "" {
		d.Pinned, d.Account = true, name
	}
	d.Pool = p.Pool()
	d.Gathered = p == InCollection
	if d.Line = p.Line(); d.Line != "" {
		d.Pinned = d.Account != "" // no attempt has written it
	}
}
