package api

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Fetches import people from where others keep them.
type Fetches interface {
	Query(ctx context.Context, tenant, name string, in wire.PeopleQuery) (posthouse.Audience, error)
	QueryList(ctx context.Context, tenant, name string, in wire.PeopleQuery) (posthouse.Audience, error)
	Followers(ctx context.Context, tenant, name string, in wire.PeopleFollowing) (posthouse.Audience, error)
	FollowersList(ctx context.Context, tenant, name string, in wire.PeopleFollowing) (posthouse.Audience, error)
}

// fetches is the resource of people whom others keep.
type fetches struct{ Fetches }

// A query shows what the database's user may read, whatever the audience is for: it takes an admin's key.
func (s fetches) routes() []web.Route {
	const queries, follows = "Import what a query gives from a database that the server's settings name. Asked again, it goes on where it was.",
		"Import everybody who follows the channel's account, such as that of a WeChat service account. Asked again, it goes on where it was."
	query, following := web.BodyOf[wire.PeopleQuery](), web.BodyOf[wire.PeopleFollowing]()
	return append(
		web.Tagged("campaigns",
			web.Post("/v1/campaigns/{name}/query", admin, queries, query, func(c *web.Call, in wire.PeopleQuery) (posthouse.Audience, error) { return fetched(c, in, s.Query) }),
			web.Post("/v1/campaigns/{name}/followers", sends, follows, following, func(c *web.Call, in wire.PeopleFollowing) (posthouse.Audience, error) {
				return fetched(c, in, s.Followers)
			}).Audited()),
		web.Tagged("audiences",
			web.Post("/v1/audiences/{name}/query", admin, queries, query, func(c *web.Call, in wire.PeopleQuery) (posthouse.Audience, error) { return fetched(c, in, s.QueryList) }),
			web.Post("/v1/audiences/{name}/followers", sends, follows, following, func(c *web.Call, in wire.PeopleFollowing) (posthouse.Audience, error) {
				return fetched(c, in, s.FollowersList)
			}).Audited())...)
}

// fetchTime bounds an import of millions whom somebody else lists.
const fetchTime = time.Hour

func fetched[In any](c *web.Call, in In, fetch func(ctx context.Context, tenant, name string, in In) (posthouse.Audience, error)) (posthouse.Audience, error) {
	connection := http.NewResponseController(c.Writer)
	_ = connection.SetReadDeadline(time.Time{}) // the request was read
	_ = connection.SetWriteDeadline(time.Now().Add(fetchTime))
	c.Changed(nil, in)
	return fetch(c.Context(), c.Tenant(), c.PathValue("name"), in)
}
