package draft_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

func TestSharedIDIsTheSameWithinAMinuteAndForNothingElse(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 1, 8, 30, 0, 0, time.UTC)
	id := draft.SharedID("t1", "oa", "k", at, 0)
	if !posthouse.ValidID(id) || posthouse.DeliveryNumber(id) != 0 {
		t.Errorf("%q is no message's id", id)
	}
	if got := draft.SharedID("t1", "oa", "k", at.Add(time.Minute-1).In(time.FixedZone("", 3600*8)), 0); got != id {
		t.Errorf("later in the same minute: %s, want %s", got, id)
	}
	seen := map[string]string{id: "the first"}
	for name, other := range map[string]string{
		"tenant":     draft.SharedID("t2", "oa", "k", at, 0),
		"channel":    draft.SharedID("t1", "oak", "", at, 0),
		"key":        draft.SharedID("t1", "oa", "l", at, 0),
		"minute":     draft.SharedID("t1", "oa", "k", at.Add(time.Minute), 0),
		"generation": draft.SharedID("t1", "oa", "k", at, 1),
	} {
		if of, taken := seen[other]; taken {
			t.Errorf("another %s has the id of %s", name, of)
		}
		seen[other] = name
	}
}

func TestSharedIDSortsByItsMinute(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(-time.Millisecond) // an earlier one than the new id's, also where a minute begins
	before, id, after := draft.SharedID("t", "c", "k", now.Add(-time.Minute), 0), draft.SharedID("t", "c", "k", now, 0), draft.SharedID("t", "c", "k", now.Add(time.Minute), 0)
	if before >= id || id >= after || id >= posthouse.NewID() {
		t.Errorf("%s, %s, %s do not rise", before, id, after)
	}
}

func TestNameOfARowSaysWhichMessageItBecomes(t *testing.T) {
	t.Parallel()
	id := posthouse.NewID()
	about := draft.About("t", "c", "k")
	row, second := draft.SharedRow(about, id), draft.SharedRow(about, id)
	if row == second || len(row) != 64 {
		t.Errorf("rows %q (%d characters) and %q: want two of 64", row, len(row), second)
	}
	if row <= about+"-" || row >= about+"." {
		t.Errorf("row %q does not lie where those about %q do", row, about)
	}
	if other := draft.About("t", "c", "l"); other == about {
		t.Errorf("another key has the rows of %q too", about)
	}
	for name, want := range map[string]string{
		id: id, row: id, "": "", "row 1": "", posthouse.DeliveryID(id, 1): "", "67d8ccf0-2f1c-4b9a-8d57-0a9a5a1f2a11": "",
		row[:17] + posthouse.DeliveryID(id, 1) + row[43:]: "", "x-" + id + "-y": "",
	} {
		if got, shared := draft.MessageOf(name); got != want || shared != (name == row) {
			t.Errorf("MessageOf(%q) = %q, %v; want %q", name, got, shared, want)
		}
	}
}

func TestATimeThatReadsAsNoneIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"deadline":"0001-01-01T00:00:00Z"}`:                              "deadline",
		`{"not_before":"0001-01-01T08:00:00+08:00"}`:                       "not_before",
		`{"clock":{"until":"0000-12-31T16:00:00-08:00"}}`:                  "clock.until",
		`{"content":{"text":"0001-01-01T00:00:00Z"},"deadline":null}`:      "",
		`{"deadline":"2026-10-01T00:00:00Z","ref":"0001-01-01T00:00:00Z"}`: "",
	} {
		if got := draft.NoTime([]byte(text)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
