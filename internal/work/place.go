package work

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Holding says which place may send by a database: the place that it names, as long as its epoch is the database's. What raises the
// epoch ends it.
type Holding struct {
	Place string
	Epoch int64
	Phase Phase
	From  string    // the place that held before, empty for none
	Since time.Time // by the clock of the database
}

// Phase is how far a switch to a place has come.
type Phase string

// The phases. A place is leaving until all that it began is recorded; what is written before "ready" is on every copy that
// says so.
const (
	PhaseLeaving Phase = "leaving" // the place that held before ends what it began
	PhaseReady   Phase = "ready"   // nothing is left to end: the new place may begin
	PhaseHeld    Phase = "held"    // the place sends
)

// ErrElsewhere says that another place may send by the database.
var ErrElsewhere = errors.New("another place holds the database")

// maxPlace bounds the name of a place.
const maxPlace = 32

// CheckPlace says what is wrong with the name of a place, which stands in the database as one word.
func CheckPlace(name string) error {
	if len(name) > maxPlace || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return posthouse.Errorf(posthouse.CodeInvalid, "%.60q is no name of a place: want at most %d of a-z, 0-9, - _ and ., such as beijing", name, maxPlace)
	}
	return nil
}

// Text is how it is kept.
func (h Holding) Text() string {
	return fmt.Sprintf("%s %d %s %d %s", h.Place, h.Epoch, h.Phase, h.Since.UnixMicro(), h.From)
}

// ParseHolding reads what Text wrote.
func ParseHolding(text string) (Holding, error) {
	words := strings.Split(text, " ")
	if len(words) != 5 {
		return Holding{}, fmt.Errorf("the holding place %.60q in the database is none", text)
	}
	epoch, err := strconv.ParseInt(words[1], 10, 64)
	since, err2 := strconv.ParseInt(words[3], 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return Holding{}, fmt.Errorf("the holding place %.60q in the database is none: %w", text, err)
	}
	return Holding{words[0], epoch, Phase(words[2]), words[4], time.UnixMicro(since).UTC()}, nil
}

// Beats reports whether, of two places that both hold a database of their own, this one is the one that goes on: the one with the
// higher epoch, and of one epoch the one that has held it longer.
func (h Holding) Beats(o Holding) bool {
	if h.Epoch != o.Epoch {
		return h.Epoch > o.Epoch
	}
	if !h.Since.Equal(o.Since) {
		return h.Since.Before(o.Since)
	}
	return h.Place < o.Place
}
