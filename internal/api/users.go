package api

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// maxUsers bounds the users of one request, and maxRoles the roles of one user.
const (
	maxUsers = 10_000
	maxRoles = 200
)

// usersBody is a part of the directory.
type usersBody struct {
	Users []posthouse.User `json:"users"`
}

// imported says how many were stored.
type imported struct {
	Stored int `json:"stored"`
}

func (a *api) users(c *call) (answer, error) {
	cursor, limit := c.query.Get("cursor"), c.number("limit", 1, maxPage)
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	list, next, err := a.Store.Users(c.Context(), c.key.Tenant, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	return pageOf(list, next)
}

func (a *api) user(c *call) (answer, error) {
	u, err := a.Store.User(c.Context(), c.key.Tenant, c.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return ok(u)
}

func (a *api) deleteUser(c *call) (answer, error) {
	return none(a.Store.DeleteUser(c.Context(), c.key.Tenant, c.PathValue("id")))
}

var usersReader = bodyOf[usersBody](oneTo(maxUsers, "users", "users"))

func (a *api) putUsers(c *call) (answer, error) {
	users, path, err := c.givenUsers()
	if err != nil {
		return answer{}, err
	}
	if n := len(users); (n == 0 || n > maxUsers) && len(c.problems) == 0 {
		c.refuse("users", "has %d users: want 1 to %d", n, maxUsers)
	}
	for i := range users {
		c.checkUser(path(i), &users[i])
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	if err := a.Store.PutUsers(c.Context(), time.Now(), c.key.Tenant, users); err != nil {
		return answer{}, err
	}
	return ok(imported{len(users)})
}

// givenUsers reads the users of a JSON or CSV body, and how user i is named in problems.
func (c *call) givenUsers() (users []posthouse.User, path func(i int) string, err error) {
	kind, err := c.kindOf("application/json", "text/csv")
	if err != nil {
		return nil, nil, err
	}
	if kind == "application/json" {
		in, err := loose(c, usersReader)
		return in.Users, func(i int) string { return fmt.Sprintf("users[%d]", i) }, err
	}
	text, err := c.text()
	if err != nil {
		return nil, nil, err
	}
	users, lines := c.readUsers(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	return users, func(i int) string { return fmt.Sprintf("line %d", lines[i]) }, nil
}

func (c *call) checkUser(path string, u *posthouse.User) {
	if u.ID == "" && !c.concerns(path+".id") {
		c.refuse(path+".id", "is required")
	}
	if u.Tenant != "" && u.Tenant != c.key.Tenant {
		c.refuse(path+".tenant", "is not the key's: leave it out")
	}
	checkWord(c, path+".id", u.ID, 255)
	checkWord(c, path+".name", u.Name, 255)
	checkWord(c, path+".type", u.Type, maxName)
	if len(u.Roles) > maxRoles {
		c.refuse(path+".roles", "has %d roles: at most %d are allowed", len(u.Roles), maxRoles)
	}
	for i, role := range u.Roles[:min(len(u.Roles), maxRoles)] {
		at := fmt.Sprintf("%s.roles[%d]", path, i)
		if role == "" || strings.Contains(role, ";") {
			c.refuse(at, "is %.60q: want a name without ;", role)
		}
		checkWord(c, at, role, 255)
	}
	for channel, address := range u.Addresses {
		checkWord(c, path+".addresses."+channel, address, 512)
	}
}

// readUsers reads a CSV with the columns id, name, type and roles (with ; between them), in any order, and
// one more for each channel whose addresses it holds. lines are where the users stand.
func (c *call) readUsers(text io.Reader) (users []posthouse.User, lines []int) {
	r := csv.NewReader(text)
	r.TrimLeadingSpace = true
	const want = "want a header such as id,name,type,dingtalk"
	header, err := r.Read()
	if err != nil {
		c.refuse("line 1", "can not be read: "+want)
		return nil, nil
	}
	if !slices.Contains(header, "id") {
		c.refuse("line 1", "has no column id: "+want)
	}
	seen := map[string]bool{}
	for _, column := range header {
		if seen[column] {
			c.refuse("line 1", "has the column %.80q twice", column)
		}
		seen[column] = true
	}
	if len(c.problems) > 0 {
		return nil, nil
	}
	for len(c.problems) <= maxProblems && len(users) <= maxUsers {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			c.refuse(fmt.Sprintf("line %d", wrong.Line), "%v", wrong.Err)
			continue
		}
		line, _ := r.FieldPos(0)
		users, lines = append(users, userOf(header, row)), append(lines, line)
	}
	return users, lines
}

func userOf(header, row []string) posthouse.User {
	u := posthouse.User{Addresses: map[string]string{}}
	for i, column := range header {
		if i >= len(row) || row[i] == "" {
			continue
		}
		switch column {
		case "id":
			u.ID = row[i]
		case "name":
			u.Name = row[i]
		case "type":
			u.Type = row[i]
		case "roles":
			u.Roles = splitRoles(row[i])
		default:
			u.Addresses[column] = row[i]
		}
	}
	return u
}

// splitRoles reads roles with ; between them.
func splitRoles(text string) []string {
	var roles []string
	for role := range strings.SplitSeq(text, ";") {
		if role = strings.TrimSpace(role); role != "" {
			roles = append(roles, role)
		}
	}
	return roles
}
