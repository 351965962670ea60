// Package api is Posthouse's native HTTP API: /v1, and the health, readiness and metrics addresses.
//
// Every resource is a value with the small interfaces it needs, in a file of its own with its routes. Routing, checks,
// errors, the OpenAPI document and the tests that walk over all addresses follow from the routes (package web). The
// bodies are package wire's, and what is shown is read by package read.
//
// The package decides nothing about deliveries and keeps nothing: what a request means is the engine's, what is stored
// the store's. The languages of other documents are not spoken here but in internal/front.
package api
