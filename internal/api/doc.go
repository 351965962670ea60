// Package api is Posthouse's HTTP API: /v1, its OpenAPI description and page, and
// the health, readiness and metrics addresses.
//
// Every address is one line of the route table (route.go): method, path, the scope
// a key needs, what goes in and what comes out. Routing, checks, errors, the
// OpenAPI document and the tests that walk over all addresses follow from it. One
// resource is one file.
//
// The package decides nothing about deliveries and keeps nothing but a short memory
// of verified keys: what a request means is the engine's, what is stored the
// store's. It reaches both through the small interfaces in ports.go. The huma
// library describes the API; requests are read by our own reader (body.go), which
// finds everything that is wrong with one at once and never echoes a secret.
package api
