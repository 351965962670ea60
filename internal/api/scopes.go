package api

import "github.com/posthouse/posthouse"

// The scopes that a key needs for a route.
const (
	reads  = posthouse.ScopeRead
	sends  = posthouse.ScopeSend
	admin  = posthouse.ScopeAdmin
	agents = posthouse.ScopeAgent
)
