package console

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
)

// trouble is what the page of an error shows.
type trouble struct {
	Word    string // which text
	Detail  string // what the API said
	Again   bool   // the page loads itself again
	Back    string
	Details []posthouse.Problem
	// Needs is the least role that may do it, and Has that of the visitor; both empty where it is not about a role.
	Needs, Has posthouse.Role
}

// lacksRole is the error of a visitor whose role in the tenant does not reach a page.
type lacksRole struct{ needs, has posthouse.Role }

func (e lacksRole) Error() string {
	return "the role " + string(e.has) + " does not reach this: it takes " + string(e.needs)
}

// leastFor is the least role that may use a page.
func leastFor(use web.Use) posthouse.Role {
	for _, role := range posthouse.Roles() {
		key, _ := people.KeyOf(posthouse.Person{Roles: map[string]posthouse.Role{"": role}}, "")
		if web.Permit(key, use) == nil {
			return role
		}
	}
	return posthouse.RoleAdmin
}

// problemAt is a problem of a field.
func problemAt(path, message string) []posthouse.Problem {
	return []posthouse.Problem{{Path: path, Message: message}}
}

// nowhere answers an address that is not there, and one of another tenant in just the same words.
func nowhere(v *visit) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is nothing here")
}

// foreign answers a form that another site has sent.
func foreign(v *visit) error {
	return v.draw(http.StatusForbidden, "trouble", "trouble", trouble{Word: "foreign_form"})
}

// fail draws the page of an error.
func (v *visit) fail(err error) {
	if v.r.Header.Get("HX-Trigger") == asideTrigger {
		status := http.StatusNoContent // the session has ended, or another role holds: the page says so when it is used
		if posthouse.CodeOf(err) == posthouse.CodeUnavailable {
			status = http.StatusServiceUnavailable // what stands on the page is as old as what cannot be counted
		}
		v.w.WriteHeader(status)
		return
	}
	if v.refuse(err) {
		return
	}
	status, t := v.troubleOf(err)
	if status == 0 {
		return // it led on to the sign-in
	}
	if v.person.Name == "" && v.tenant == "" && status == http.StatusNotFound { // with a menu, so that one finds the way on
		if person, err := v.o.Desk.Who(v.r.Context(), tokenOf(v.r)); err == nil && !person.WantsTOTP {
			v.person = person
		}
	}
	if err := v.draw(status, "trouble", "trouble", t); err != nil {
		v.o.Log.Error("a page of the console could not be drawn", "error", err)
		http.Error(v.w, "internal error", http.StatusInternalServerError)
	}
}

// troubleOf is the page of an error; 0 where the visitor is led to the sign-in instead.
func (v *visit) troubleOf(err error) (int, trouble) {
	if errors.Is(err, errCodesFirst) {
		leadTo(v, Root+"me/totp")
		return 0, trouble{}
	}
	if errors.Is(err, errSent) {
		return http.StatusConflict, trouble{Word: "sent_already"}
	}
	if errors.Is(err, errLong) {
		return http.StatusRequestEntityTooLarge, trouble{Word: "form_long"}
	}
	var role lacksRole
	if errors.As(err, &role) {
		return http.StatusForbidden, trouble{Word: "forbidden", Needs: role.needs, Has: role.has}
	}
	var coded *posthouse.Error
	if !errors.As(err, &coded) {
		v.o.Log.Error("a page of the console failed", "path", v.r.URL.Path, "error", err)
		return http.StatusInternalServerError, trouble{Word: "broken"}
	}
	t := trouble{Detail: coded.Message, Details: coded.Problems}
	switch coded.Code {
	case posthouse.CodeUnauthorized:
		v.ended()
		return 0, t
	case posthouse.CodeNotFound:
		return http.StatusNotFound, trouble{Word: "not_found"}
	case posthouse.CodeForbidden:
		t.Word = "forbidden"
		return http.StatusForbidden, t
	case posthouse.CodeUnavailable:
		t.Word, t.Again = "away", v.r.Method == http.MethodGet
		v.w.Header().Set("Retry-After", "5")
		if v.r.Header.Get("HX-Request") != "" { // the page stays, says so on its top, and goes on asking: the next refresh that is answered takes the word away
			v.w.Header().Set("HX-Retarget", "#away")
			v.w.Header().Set("HX-Reswap", "innerHTML")
			v.w.Header().Set("HX-Reselect", "[role=alert]:not([hidden])")
		}
		return http.StatusServiceUnavailable, t
	case posthouse.CodeConflict, posthouse.CodeChanged:
		t.Word = "conflict"
		return http.StatusConflict, t
	case posthouse.CodeInvalid:
		t.Word = "invalid"
		return http.StatusUnprocessableEntity, t
	case posthouse.CodeQuota:
		t.Word = "too_many"
		return http.StatusTooManyRequests, t
	}
	v.o.Log.Error("a page of the console failed", "path", v.r.URL.Path, "error", err)
	t.Word = "broken"
	return http.StatusInternalServerError, t
}

// here is the address of the page that the visitor looks at. Of a form it is the page where that stands, as it says; one whose file is read
// as it comes says it in its address.
func (v *visit) here() string {
	if v.r.Method == http.MethodGet {
		return v.r.URL.RequestURI()
	}
	return cmp.Or(v.query("here"), v.form("here"))
}

// leadTo leads to another page, the whole page where a part of one was asked for.
func leadTo(v *visit, to string) {
	if v.r.Header.Get("HX-Request") != "" {
		v.w.Header().Set("HX-Redirect", to)
		v.w.WriteHeader(http.StatusUnauthorized)
		return
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
}
