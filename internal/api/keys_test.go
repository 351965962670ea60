package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// keyOf is a key as the list shows it.
func keyOf(h *house, id string) posthouse.Key {
	h.Helper()
	for _, k := range read[list[posthouse.Key]](h, h.must(200, "GET", "/v1/keys", "")).Items {
		if k.ID == id {
			return k
		}
	}
	h.Fatalf("there is no key %s", id)
	return posthouse.Key{}
}

func TestAKeyHasANoteAnEndAndALastUse(t *testing.T) {
	t.Parallel()
	h := with(t)
	made := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", `{"name":"crm","scope":"read","note":"工单 4711","expires_at":"2999-01-01T08:00:00+08:00"}`))
	if k := keyOf(h, made.ID); k.Note != "工单 4711" || !k.ExpiresAt.Equal(time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)) || !k.LastUsedAt.IsZero() {
		t.Errorf("got %+v", k)
	}
	if got := h.do(request{method: "GET", path: "/v1/users", key: made.Secret}); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if k := keyOf(h, made.ID); time.Since(k.LastUsedAt) > time.Minute {
		t.Errorf("it was used last at %s", k.LastUsedAt)
	}
	ended := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", `{"name":"crm","scope":"read"}`))
	if _, err := dbtest.SQL(t, h.dsn).ExecContext(t.Context(), "UPDATE posthouse_api_keys SET expires_at = 1 WHERE id = '"+ended.ID+"'"); err != nil {
		t.Fatal(err)
	}
	if got := h.do(request{method: "GET", path: "/v1/users", key: ended.Secret}); got.status != 401 {
		t.Errorf("an ended key: got %d %s, want 401", got.status, got.body)
	}
	if got := h.must(422, "POST", "/v1/keys", `{"name":"x","scope":"read","expires_at":"2020-01-01T00:00:00Z"}`); !strings.Contains(got.body, `"expires_at"`) {
		t.Errorf("a key that has ended before it begins: %s", got.body)
	}
}

func TestARotatedKeyGoesOnForAWhile(t *testing.T) {
	t.Parallel()
	h := with(t)
	old := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", `{"name":"crm","scope":"read","note":"n"}`))
	may := func(secret string) int { return h.do(request{method: "GET", path: "/v1/users", key: secret}).status }
	next := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys/"+old.ID+"/rotate", `{"overlap":"1h"}`))
	if next.ID == old.ID || next.Name != "crm" || next.Scope != posthouse.ScopeRead || next.Note != "n" || may(old.Secret) != 200 || may(next.Secret) != 200 {
		t.Errorf("rotated to %+v: the old one gets %d, the new one %d", next, may(old.Secret), may(next.Secret))
	}
	if left := time.Until(keyOf(h, old.ID).ExpiresAt); left < 50*time.Minute || left > time.Hour {
		t.Errorf("the old one ends in %s, want an hour", left)
	}
	last := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys/"+next.ID+"/rotate", `{"overlap":"0s"}`))
	if may(next.Secret) != 401 || may(last.Secret) != 200 {
		t.Errorf("without an overlap the old one gets %d, the new one %d", may(next.Secret), may(last.Secret))
	}
	h.must(404, "POST", "/v1/keys/"+next.ID+"/rotate", "")
	h.must(422, "POST", "/v1/keys/"+last.ID+"/rotate", `{"overlap":"31d"}`)
}
