package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// numbers takes digits, with or without spaces and +86, as addresses.
func numbers(address string) (string, error) {
	digits := strings.TrimPrefix(strings.ReplaceAll(address, " ", ""), "+86")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", errors.New("is no number")
	}
	return "+86" + digits, nil
}

// PULL-13: numbers are checked at the door and kept in one form, so that one written twice is told once.
func TestAddressesAreKeptAsTheChannelWritesThem(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("sms", posthouse.ChannelSettings{}, state.Opened{Pull: true, Address: numbers})
		draft := posthouse.Draft{Channel: "sms", Content: &posthouse.Content{Text: "hello"}, To: []posthouse.Recipient{
			{Address: "138 0013 8000"}, {Address: "+8613800138000"}, {User: "13900139000"},
		}}
		var got []string
		for _, id := range r.send(draft) {
			got = append(got, r.get(id).Address)
		}
		if diff := cmp.Diff([]string{"+8613800138000", "+8613900139000"}, got); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
		draft.To = append(draft.To, posthouse.Recipient{User: "nobody"})
		why, err := r.engine.Intake.Misaddressed(context.Background(), r.tenant, "sms", draft.To)
		if diff := cmp.Diff(map[int]string{3: "is no number"}, why); diff != "" || err != nil {
			t.Errorf("who cannot be reached (-want +got):\n%s%v", diff, err)
		}
		draft.To[1].Address = "head office"
		_, err = r.engine.Intake.Accept(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{draft}})
		if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "to[1].address: is no number") {
			t.Errorf("got %v, want a problem with to[1].address", err)
		}
	})
}
