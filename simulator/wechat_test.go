package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// CAMP-12: each account's quota is of a day, which begins anew at midnight in China and not a day after the first message.
func TestTheQuotaOfWeChatIsOfADayInChina(t *testing.T) {
	t.Parallel()
	a := new(accounts)
	a.forget()
	late := time.Date(2026, 11, 25, 15, 59, 59, 0, time.UTC) // a second before midnight in Beijing
	for i := range wechatPerDay {
		if a.over("wx1", late) {
			t.Fatalf("message %d of the day is over the quota", i+1)
		}
	}
	if !a.over("wx1", late) || a.over("wx2", late) {
		t.Error("the quota is not each account's own")
	}
	if a.over("wx1", late.Add(time.Second)) {
		t.Error("the quota does not begin anew at midnight in China")
	}
}

func TestReceiptsComeLateTwiceOrNever(t *testing.T) {
	t.Parallel()
	for user, want := range map[string][]time.Duration{"o1": {0}, "user-block-1": {0}, "receipt-late-1": {10 * time.Second}, "receipt-twice-1": {0, time.Second}, "receipt-never-1": nil} {
		if diff := cmp.Diff(want, receiptsOf(user)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", user, diff)
		}
	}
}

// CAMP-9: followers come in pages, each behind the last openid of the one before.
func TestFollowersComeInPages(t *testing.T) {
	t.Parallel()
	a := new(accounts)
	for app, want := range map[string][]int{"wx1": {25}, "wx-0": {0}, "wx-10000": {10_000}, "wx-25003": {10_000, 10_000, 5003}} {
		token, next, got, last := a.tokens.give(app), "", []int(nil), ""
		for range 5 {
			var page struct {
				Total, Count int
				Data         struct{ OpenID []string }
				Next         string `json:"next_openid"`
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/wechat/cgi-bin/user/get?access_token="+token+"&next_openid="+next, http.NoBody)
			w := httptest.NewRecorder()
			a.listFollowers(w, r)
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.Count != len(page.Data.OpenID) {
				t.Fatalf("%s: %v, %.200s", app, err, w.Body)
			}
			got = append(got, page.Count)
			if n := len(page.Data.OpenID); n > 0 {
				last = page.Data.OpenID[n-1]
			}
			if next = page.Next; next == "" {
				if n := page.Total; n > 0 && last != fmt.Sprintf("o6_fan%07d", n) {
					t.Errorf("%s: the last of %d is %s", app, n, last)
				}
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the pages of %s (-want +got):\n%s", app, diff)
		}
	}
	w := httptest.NewRecorder()
	a.listFollowers(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/wechat/cgi-bin/user/get?access_token=none", http.NoBody))
	if got := w.Body.String(); got != `{"errcode":40014,"errmsg":"access_token is not valid"}` {
		t.Errorf("without a token: %s", got)
	}
}
