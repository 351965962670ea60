package quota_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Those who call everybody are counted by the day, all or none, for the tenant and the key; what was not stored comes back.
func TestCallsOfEverybodyAreCountedByTheDay(t *testing.T) {
	t.Parallel()
	q := known(t, &fakeStore{quotas: map[string]posthouse.Quota{"bank": {MentionAll: 3}}})
	if back, err := q.MentionAll(t.Context(), "another", work.Payer{}, 1000); back != nil || err != nil {
		t.Errorf("without a quota: got %v", err)
	}
	back, err := q.MentionAll(t.Context(), "bank", work.Payer{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.MentionAll(t.Context(), "bank", work.Payer{}, 2)
	if b := boundOf(t, err); b.Of != posthouse.BoundOfTenant || b.What != posthouse.BoundMentionAll || b.Max != 3 {
		t.Errorf("got the bound %+v", b)
	}
	back(1)
	if _, err := q.MentionAll(t.Context(), "bank", work.Payer{}, 2); err != nil {
		t.Errorf("two more, after one came back and none was taken by a refusal: %v", err)
	}
	paying := work.Payer{Key: "k1", MentionAll: 1}
	if _, err := q.MentionAll(t.Context(), "another", paying, 1); err != nil {
		t.Fatal(err)
	}
	_, err = q.MentionAll(t.Context(), "another", paying, 1)
	if b := boundOf(t, err); b.Of != posthouse.BoundOfKey || b.Name != "k1" {
		t.Errorf("got the bound %+v", b)
	}
}
