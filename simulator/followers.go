package simulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The followers of a fake official account: how many are in a page, as WeChat has it, and how many an account has whose app id does
// not say.
const (
	followersInPage = 10_000
	followersUsual  = 25
)

// followersOf is how many followers an account has: an app id that ends in a hyphen and a number has so many, such as wx-25000.
func followersOf(app string) int {
	if _, tail, found := cutLast(app, "-"); found {
		if n, err := strconv.Atoi(tail); err == nil && n >= 0 && n <= 100_000_000 {
			return n
		}
	}
	return followersUsual
}

func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}

// followerName is the openid of a follower, numbered from 1.
func followerName(n int) string { return fmt.Sprintf("o6_fan%07d", n) }

// listTemplates answers the lists of an account's templates, by the names that these have there. Each account keeps one, OPENTM-1.
func (s *accounts) listTemplates(list, id string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ref := s.tokens.whose(r, time.Now()); ref != nil {
			errorLine(ref.own, ref.text).send(w, http.StatusOK)
			return
		}
		text := `{"errcode":0,"errmsg":"ok",` + quote(list) + `:[{` + quote(id) + `:"OPENTM-1","title":"优惠券到账通知","content":` + quote("用户：{{thing1.DATA}}\n金额：{{amount2.DATA}}\n有效期：{{time3.DATA}}\n") + `}]}`
		inJSON(text).send(w, http.StatusOK)
	}
}

// listFollowers answers user/get.
func (s *accounts) listFollowers(w http.ResponseWriter, r *http.Request) {
	app, ref := s.tokens.whose(r, time.Now())
	if ref != nil {
		errorLine(ref.own, ref.text).send(w, http.StatusOK)
		return
	}
	first, all := 1, followersOf(app)
	if next := r.URL.Query().Get("next_openid"); next != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(next, "o6_fan"))
		if err != nil || followerName(n) != next {
			errorLine("40003", "invalid openid").send(w, http.StatusOK)
			return
		}
		first = n + 1
	}
	last := min(first+followersInPage-1, all)
	var page strings.Builder
	fmt.Fprintf(&page, `{"total":%d,"count":%d`, all, max(last-first+1, 0))
	next := ""
	if first <= last {
		page.WriteString(`,"data":{"openid":[`)
		for n := first; n <= last; n++ {
			if n > first {
				page.WriteByte(',')
			}
			page.WriteString(quote(followerName(n)))
		}
		page.WriteString(`]}`)
		if last < all {
			next = followerName(last)
		}
	}
	fmt.Fprintf(&page, `,"next_openid":%s}`, quote(next))
	inJSON(page.String()).send(w, http.StatusOK)
}
