package console

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// viewsCookie keeps the searches that somebody saved: they belong to the browser, as the language does.
const viewsCookie = "posthouse-views"

// view is a search with a name.
type view struct {
	Name  string `json:"n"`
	Query string `json:"q"`
	At    int    `json:"-"` // its place in the list
}

const (
	// mostViews bounds the views of a browser; a cookie has 4,096 bytes.
	mostViews = 8
	// maxView bounds the name and the query of one, in bytes.
	maxView = 240
)

// viewsOf are those that a browser keeps.
func viewsOf(r *http.Request) (list []view) {
	c, err := r.Cookie(viewsCookie)
	if err != nil {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	list = list[:min(len(list), mostViews)]
	for i := range list {
		list[i].At = i
	}
	return list
}

// keepViews gives the browser a list of views.
func keepViews(v *visit, list []view) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	age := int(365 * 24 * time.Hour / time.Second)
	if len(list) == 0 {
		age = -1
	}
	setCookie(v.w, v.r, viewsCookie, base64.RawURLEncoding.EncodeToString(text), age)
	return nil
}

// changeViews saves the search that the form names, or takes one away.
func changeViews(v *visit) error {
	list := viewsOf(v.r)
	if drop := v.form("drop"); drop != "" {
		if at, err := strconv.Atoi(drop); err == nil && at >= 0 && at < len(list) {
			list = slices.Delete(list, at, at+1)
		}
		if err := keepViews(v, list); err != nil {
			return err
		}
		return v.goTo(v.at("search"))
	}
	asked, err := url.ParseQuery(v.form("query"))
	one := view{Name: v.form("name"), Query: asked.Encode()}
	var problems []posthouse.Problem
	switch {
	case one.Name == "" || len(one.Name) > maxView:
		problems = problemAt("name", say("view_name", v.zh))
	case err != nil || len(one.Query) > maxView:
		problems = problemAt("query", say("view_long", v.zh))
	case len(list) >= mostViews:
		problems = problemAt("name", say("view_many", v.zh))
	}
	if len(problems) > 0 {
		return posthouse.Invalid(say("view_not", v.zh), problems)
	}
	list = append(slices.DeleteFunc(list, func(have view) bool { return have.Name == one.Name }), one)
	if err := keepViews(v, list); err != nil {
		return err
	}
	return v.goTo(v.at("search") + "?" + one.Query)
}
