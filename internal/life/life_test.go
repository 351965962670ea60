package life_test

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse/internal/life"
)

func TestALifeRefusesWhatAnotherPlaceOrANewerProgramHasToDo(t *testing.T) {
	l := life.New()
	if err := l.Refusal(); err != nil {
		t.Errorf("a life that has begun: %v", err)
	}
	away := errors.New("try there")
	l.Elsewhere(func() error { return away })
	if err := l.Refusal(); !errors.Is(err, away) {
		t.Errorf("elsewhere: %v", err)
	}
	l.Outdate()
	if err := l.Refusal(); !errors.Is(err, life.ErrOutdated) {
		t.Errorf("outdated: %v", err)
	}
}
