package route

import (
	"strings"

	"github.com/posthouse/posthouse"
)

// Whose is the id of the user of the directory whom a text names: of one user alone by the whole name. A text that is an id, or that nobody is
// called, stays as it is: notifications know addresses too. found are users whom the text finds; several of one name are an error that names
// their ids.
func Whose(text string, found []posthouse.User) (id string, known bool, err error) {
	var called []string
	for i := range found {
		switch u := &found[i]; {
		case u.ID == text:
			return text, true, nil
		case u.Name == text:
			called = append(called, u.ID)
		}
	}
	switch len(called) {
	case 0:
		return text, false, nil
	case 1:
		return called[0], true, nil
	}
	return text, true, posthouse.Errorf(posthouse.CodeInvalid, "%.80q is the name of several users: want one of the ids %s", text, strings.Join(called, ", "))
}

// MostCalled is how many users are looked at for one of a name.
const MostCalled = 50
