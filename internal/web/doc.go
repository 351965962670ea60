// Package web is what the HTTP doors of a server share: who may come in (the gate and its brake), how a request is
// read (strictly, everything that is wrong with it found at once), how an error is answered, and the table of
// routes from which the serving, the OpenAPI document and its page are made.
//
// A route is made by Get, Post, Put, Act, Do or Delete from a typed handler, so that the types of its bodies are
// named once, in the handler:
//
//	web.Post("/v1/keys", admin, "Make a key.", keyBody, k.create).Answers(201)
//
// The package knows no resource and no store: internal/api has the native resources, internal/front the
// documents that others wrote. The huma library describes the API; requests are read by our own reader (body.go),
// which never echoes a secret.
package web
