package api

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// maxUsers bounds the users of one request.
const maxUsers = 10_000

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

var usersReader = bodyOf[usersBody]()

func (a *api) putUsers(c *call) (answer, error) {
	kind, err := c.kindOf("application/json", "text/csv")
	if err != nil {
		return answer{}, err
	}
	var in usersBody
	path := func(i int) string { return fmt.Sprintf("users[%d]", i) }
	if kind == "text/csv" {
		text, err := c.text()
		if err != nil {
			return answer{}, err
		}
		in.Users = c.readUsers(strings.NewReader(string(text)))
		path = func(i int) string { return fmt.Sprintf("line %d", i+2) }
	} else if in, err = loose(c, usersReader); err != nil {
		return answer{}, err
	}
	if n := len(in.Users); (n == 0 || n > maxUsers) && !c.concerns("users") && len(c.problems) == 0 {
		c.refuse("users", "has %d users: want 1 to %d", n, maxUsers)
	}
	for i := range in.Users {
		c.checkUser(path(i), &in.Users[i])
	}
	if err := c.wrong(); err != nil {
		return answer{}, err
	}
	if err := a.Store.PutUsers(c.Context(), time.Now(), c.key.Tenant, in.Users); err != nil {
		return answer{}, err
	}
	return ok(imported{len(in.Users)})
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
	for channel, address := range u.Addresses {
		checkWord(c, path+".addresses."+channel, address, 512)
	}
}

// readUsers reads a CSV with the columns id, name and type, in any order, and one more for each
// channel whose addresses it holds.
func (c *call) readUsers(text io.Reader) []posthouse.User {
	r := csv.NewReader(text)
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil {
		c.refuse("line 1", "can not be read: want a header such as id,name,type,dingtalk")
		return nil
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	if !slices.Contains(header, "id") {
		c.refuse("line 1", "has no column id: want a header such as id,name,type,dingtalk")
		return nil
	}
	var users []posthouse.User
	for len(c.problems) < 100 {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			c.refuse(fmt.Sprintf("line %d", wrong.Line), "%v", wrong.Err)
		}
		users = append(users, userOf(header, row))
	}
	return users
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
		default:
			u.Addresses[column] = row[i]
		}
	}
	return u
}
