package work

import "github.com/posthouse/posthouse"

// FrontCall is what came once at a front, with its body, sealed.
type FrontCall struct {
	posthouse.FrontCall
	Tenant, Front string
	Body          string
}
