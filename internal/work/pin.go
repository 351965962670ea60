package work

import (
	"strings"

	"github.com/posthouse/posthouse"
)

// Pin says which accounts of a channel may send what waits in a lane, as the column pin holds it: empty for any of them,
// ByAccount or ByPool.
type Pin string

// Signs before the name in a pin. No name of an account or a pool begins with one.
const (
	accountSign = "="
	poolSign    = "~"
)

// ByAccount is the pin of what one account sends.
func ByAccount(name string) Pin { return Pin(accountSign + name) }

// ByPool is the pin of what any account of a pool sends.
func ByPool(label string) Pin { return Pin(poolSign + label) }

// PinOf follows from the delivery alone: whoever writes a row writes its pin.
func PinOf(d *posthouse.Delivery) Pin {
	switch {
	case d.Pinned:
		return ByAccount(d.Account)
	case d.Pool != "":
		return ByPool(d.Pool)
	}
	return ""
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
}
