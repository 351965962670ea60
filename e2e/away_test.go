package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
)

// The database goes away under an open page, which says so, and no longer once it is back: nobody loads anything again. Meanwhile
// every other page says so too.
func TestTheDatabaseGoesAway(t *testing.T) {
	wholeOnly(t)
	for language, words := range map[string]string{"zh-CN": "数据库暂时没有应答", "en": "The database does not answer now"} {
		t.Run(language, func(t *testing.T) {
			db := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres})
			dsn, _, err := db.Database()
			if err != nil {
				t.Fatal(err)
			}
			h := open(t, func(o *server.Options) { o.DSN = dsn })
			tab := launch(t).open(t, language)
			tab.signsIn(h, languages[language].signIn)
			tab.goes(h.at(""), http.StatusOK)
			if err := db.Kill(); err != nil {
				t.Fatal(err)
			}
			tab.do(discard(chromedp.WaitVisible(chromedp.CSS(`#live #away [role="alert"]`))))
			tab.says(words)
			other := tab.beside()
			for _, page := range pages {
				other.goes(h.at(page), http.StatusServiceUnavailable)
				other.says(words)
				other.forgets() // that it did not load
			}
			if err := db.Restart(); err != nil {
				t.Fatal(err)
			}
			tab.do(discard(chromedp.WaitNotPresent(chromedp.CSS(`#away [role="alert"]`))))
			if !tab.is(`document.querySelector("#live h1") !== null`) {
				t.Errorf("the page did not come back:\n%s", tab.text())
			}
			tab.forgets() // the refreshes that failed
		})
	}
}
