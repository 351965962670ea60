package local

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// held is which place holds a database, as people and programs read it.
type held struct {
	Place   string    `json:"place"`
	Epoch   int64     `json:"epoch"`
	Phase   string    `json:"phase,omitempty"`
	From    string    `json:"from,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Standby bool      `json:"standby"`
}

func heldOf(ctx context.Context, s *store.Store) (held, error) {
	standby, err := s.DB.InRecovery(ctx)
	if err != nil {
		return held{}, err
	}
	h, epoch, found, err := s.Places.Holding(ctx)
	if err != nil || !found {
		return held{Epoch: epoch, Standby: standby}, err
	}
	return held{h.Place, epoch, string(h.Phase), h.From, h.Since, standby}, nil
}

func (h held) text() string {
	kind := "takes writes"
	if h.Standby {
		kind = "is a standby"
	}
	switch {
	case h.Place == "":
		return fmt.Sprintf("no place holds epoch %d; the database %s", h.Epoch, kind)
	case h.Phase == string(work.PhaseLeaving):
		return fmt.Sprintf("%s takes over epoch %d: %s still ends what it began; the database %s", h.Place, h.Epoch, h.From, kind)
	case h.Phase == string(work.PhaseReady):
		return fmt.Sprintf("%s takes over epoch %d: %s has ended all it began; the database %s", h.Place, h.Epoch, h.From, kind)
	}
	return fmt.Sprintf("%s holds epoch %d since %s; the database %s", h.Place, h.Epoch, h.Since.UTC().Format(time.RFC3339), kind)
}

// examinePlace says which place holds the database, where there are places.
func examinePlace(ctx context.Context, s *store.Store, own string) []finding {
	h, err := heldOf(ctx, s)
	if err != nil {
		return []finding{{"place", false, err.Error()}}
	}
	return ofPlace(h, own)
}

func ofPlace(h held, own string) []finding {
	switch {
	case own == "" && h.Place == "":
		return nil
	case own == "":
		return []finding{{"place", false, h.text() + ". The setting place is missing: no server starts without it"}}
	case h.Place != "" && h.Place != own && !h.Standby && h.Phase == string(work.PhaseHeld):
		return []finding{{"place", false, fmt.Sprintf("this place is %s, and %s. If %s is lost, run posthouse migrate new-epoch --yes", own, h.text(), h.Place)}}
	}
	return []finding{{"place", true, fmt.Sprintf("this place is %s; %s", own, h.text())}}
}
