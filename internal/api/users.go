package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/table"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Users keeps the directory.
type Users interface {
	PutUsers(ctx context.Context, now time.Time, tenant string, users []posthouse.User) error
	User(ctx context.Context, tenant, id string) (posthouse.User, error)
	Users(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.User, next string, err error)
	FindUsers(ctx context.Context, tenant, text string, limit int) ([]posthouse.User, error)
	DeleteUser(ctx context.Context, tenant, id string) error
	ReplaceUsers(ctx context.Context, now time.Time, tenant string, users []posthouse.User, rehearse bool) (work.Directory, error)
	Profiles(ctx context.Context, tenant string, ids []string) (map[string]posthouse.User, error)
	ChangeUser(ctx context.Context, now time.Time, tenant, id string, change func(*posthouse.User)) (before, after posthouse.User, err error)
}

// users is the resource of the directory.
type users struct {
	store    Users
	channels stored // addresses are in them
}

// maxUsers bounds the users of one request, and maxRoles the roles of one user.
const (
	maxUsers = 10_000
	maxRoles = 200
)

// mostFound bounds how many users are found by a text; somebody who wants another writes more of it.
const mostFound = 100

// givenUsers are users with the lines of the CSV that they stand in, if it is one.
type givenUsers struct {
	wire.Users
	lines []int
}

// path names a user in problems.
func (g *givenUsers) path(i int) string {
	if g.lines != nil {
		return fmt.Sprintf("line %d", g.lines[i])
	}
	return fmt.Sprintf("users[%d]", i)
}

var usersBody = web.BodyOf[givenUsers](web.OneTo(maxUsers, "users", "users")).OrCSV(usersFromCSV)

func (u users) routes() []web.Route {
	return web.Tagged("users",
		web.Get("/v1/users", reads, "List the directory, or find somebody in it by the beginning of an id, an address, a name or a part of a name.", u.list).Query("find").Paged(),
		web.Put("/v1/users", admin, "Store users, from JSON or CSV (id,name,type,roles,time_zone,language,manager, then a column a channel; roles with ; between).", usersBody, u.put).Takes(wire.Users{}).Query("prune", "dry_run").Guarded(),
		web.Get("/v1/users/{id}", reads, "One user.", u.show),
		web.Patch("/v1/users/{id}", admin, "Change a user, and keep what is not named.", userBody, u.change).Guarded(),
		web.Delete("/v1/users/{id}", admin, "Delete a user.", u.remove),
	)
}

func (u users) list(c *web.Call) (wire.Page[posthouse.User], error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[posthouse.User]{}, err
	}
	if text := c.Query.Get("find"); text != "" {
		list, err := u.store.FindUsers(c.Context(), c.Tenant(), text, min(cmp.Or(limit, mostFound), mostFound))
		u.warn(c, list)
		return wholeOf(list, err)
	}
	return partsOf(cursor, limit, func(cursor string, limit int) ([]posthouse.User, string, error) {
		list, next, err := u.store.Users(c.Context(), c.Tenant(), cursor, limit)
		u.warn(c, list)
		return list, next, err
	})
}

func (u users) get(c *web.Call) (posthouse.User, error) {
	return u.store.User(c.Context(), c.Tenant(), c.PathValue("id"))
}

// show is get with the tag that a later change may name.
func (u users) show(c *web.Call) (posthouse.User, error) {
	found, err := u.get(c)
	c.Tag(found.Tag())
	if err == nil {
		one := []posthouse.User{found}
		u.warn(c, one)
		found = one[0]
	}
	return found, err
}

func (u users) remove(c *web.Call) error {
	before, err := u.get(c)
	deletes(c, before, err)
	return u.store.DeleteUser(c.Context(), c.Tenant(), c.PathValue("id"))
}

func (u users) put(c *web.Call, in givenUsers) (out wire.UsersStored, err error) {
	list := in.Users.Users
	if n := len(list); (n == 0 || n > maxUsers) && c.Wrong() == nil {
		c.Refuse("users", "has %d users: want 1 to %d", n, maxUsers)
	}
	for i := range list {
		checkUser(c, in.path(i), &list[i])
	}
	prune, rehearse := c.Truth("prune"), c.Truth("dry_run")
	if rehearse && !prune {
		c.Refuse("query.dry_run", "previews what prune would do: give both")
	}
	if err := c.Wrong(); err != nil {
		return out, err
	}
	if !prune {
		if err := u.keep(c, list); err != nil {
			return out, err
		}
		return wire.UsersStored{Stored: len(list), Warnings: u.doubts(c, nil, list)}, nil
	}
	done, err := u.store.ReplaceUsers(c.Context(), time.Now(), c.Tenant(), list, rehearse)
	stored := len(done.Added) + len(done.Changed)
	c.Asked(map[string][]string{"added": first(done.Added), "changed": first(done.Changed), "removed": first(done.Removed)}, stored+len(done.Removed))
	if rehearse {
		c.Unchanged()
	}
	if err != nil {
		return out, err
	}
	return wire.UsersStored{Stored: stored, Warnings: u.doubts(c, done.Removed, list), Replaced: &wire.UsersReplaced{
		DryRun: rehearse, Added: listed(done.Added), Changed: listed(done.Changed), Unchanged: done.Unchanged, Removed: listed(done.Removed), Gained: done.Gained, Lost: done.Lost, Tag: done.Tag,
	}}, nil
}

// keep stores users, and tells the audit log of one how it was and is, of many the ids.
func (u users) keep(c *web.Call, list []posthouse.User) error {
	if len(list) > 1 {
		ids := make([]string, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		c.Asked(map[string][]string{"users": first(ids)}, len(list))
		return u.store.PutUsers(c.Context(), time.Now(), c.Tenant(), list)
	}
	id := list[0].ID
	before, missing := u.store.User(c.Context(), c.Tenant(), id)
	err := u.store.PutUsers(c.Context(), time.Now(), c.Tenant(), list)
	stored, unread := u.store.User(c.Context(), c.Tenant(), id)
	if c.Named(id); unread == nil {
		puts(c, missing == nil, before, stored)
	}
	c.Affected(1)
	return err
}

// first are as many ids as a line of the audit log names.
func first(ids []string) []string { return ids[:min(len(ids), 100)] }

// listed is a list that JSON shows as one when it is empty.
func listed(ids []string) []string { return append([]string{}, ids...) }

var userBody = web.BodyOf[wire.UserChange]()

func (u users) change(c *web.Call, in wire.UserChange) (posthouse.User, error) {
	given := posthouse.User{ID: c.PathValue("id"), Addresses: map[string]string{}}
	apply := func(to *posthouse.User) {
		orStay(&to.Name, in.Name)
		orStay(&to.Type, in.Type)
		if in.Roles != nil {
			to.Roles = *in.Roles
		}
		orStay(&to.TimeZone, in.TimeZone)
		orStay(&to.Language, in.Language)
		orStay(&to.Manager, in.Manager)
		if to.Addresses == nil {
			to.Addresses = map[string]string{}
		}
		for channel, address := range in.Addresses {
			if to.Addresses[channel] = ""; address != nil {
				to.Addresses[channel] = *address
			}
			if to.Addresses[channel] == "" {
				delete(to.Addresses, channel)
			}
		}
	}
	apply(&given)
	checkUser(c, "", &given)
	if in.Language != nil {
		in.Language = &given.Language // as it is written
	}
	if in.Name == nil && in.Type == nil && in.Roles == nil && in.TimeZone == nil && in.Language == nil && in.Manager == nil && len(in.Addresses) == 0 {
		c.Refuse("body", "names nothing to change: want one or more of name, type, addresses, roles, time_zone, language, manager")
	}
	if err := c.Wrong(); err != nil {
		return posthouse.User{}, err
	}
	before, after, err := u.store.ChangeUser(c.Context(), time.Now(), c.Tenant(), given.ID, apply)
	c.Changed(before, after)
	c.Tag(after.Tag())
	if err == nil {
		one := []posthouse.User{after}
		u.warn(c, one)
		after = one[0]
	}
	return after, err
}

func orStay(to, given *string) {
	if given != nil {
		*to = *given
	}
}

func usersFromCSV(c *web.Call, text []byte) (in givenUsers, err error) {
	in.Users.Users, in.lines = table.Users(c, audience.Text(text), maxUsers)
	return in, nil
}

func checkUser(c *web.Call, path string, u *posthouse.User) {
	if path != "" {
		path += "."
	}
	if u.ID == "" {
		c.RefuseNew(path+"id", "is required")
	}
	if strings.TrimSpace(u.ID) != u.ID { // a database may compare it as equal to the one without
		c.RefuseNew(path+"id", "is %.80q: spaces at its ends are not allowed", u.ID)
	}
	c.CheckTenant(path+"tenant", u.Tenant)
	c.CheckWord(path+"id", u.ID, 255)
	c.CheckWord(path+"name", u.Name, 255)
	c.CheckWord(path+"type", u.Type, web.MaxName)
	if len(u.Roles) > maxRoles {
		c.Refuse(path+"roles", "has %d roles: at most %d are allowed", len(u.Roles), maxRoles)
	}
	for i, role := range u.Roles[:min(len(u.Roles), maxRoles)] {
		at := fmt.Sprintf("%sroles[%d]", path, i)
		if role == "" || strings.Contains(role, ";") {
			c.Refuse(at, "is %.60q: want a name without ;", role)
		}
		c.CheckWord(at, role, 255)
	}
	c.CheckZone(path+"time_zone", u.TimeZone)
	c.CheckLanguage(path+"language", &u.Language)
	c.CheckWord(path+"manager", u.Manager, 255)
	if u.Manager != "" && u.Manager == u.ID {
		c.Refuse(path+"manager", "is the user itself: want another user, such as wang.fang")
	}
	for channel, address := range u.Addresses {
		c.CheckWord(path+"addresses."+channel, address, 512)
	}
}
