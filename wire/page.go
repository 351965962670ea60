package wire

import "github.com/posthouse/posthouse"

// Page is a list, or a part of one. Next is the cursor of the next part, empty at the end.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}

// Problem is an error as every address answers it, application/problem+json (RFC 9457).
type Problem struct {
	// Type leads to a page of the server that says what Code means, and what to do then.
	Type   string         `json:"type"`
	Title  string         `json:"title" doc:"The HTTP status in words."`
	Status int            `json:"status" doc:"The HTTP status."`
	Code   posthouse.Code `json:"code" doc:"The stable word of the error."`
	Detail string         `json:"detail" doc:"What is wrong, for a person."`
	// Problems are all that is wrong with the input.
	Problems []posthouse.Problem `json:"problems,omitempty" doc:"All that is wrong with the input, each with the path of its field."`
	// Bound is the part of a quota that is used up, of the code quota.
	Bound *posthouse.Bound `json:"bound,omitempty" doc:"The part of a quota that is used up, of the code quota."`
	// Place is where the request can be made instead, at a place that is passive.
	Place *posthouse.Place `json:"place,omitempty" doc:"Where the request can be made instead, at a place that is passive."`
	// ID is the request's, in the header X-Request-Id and in the server's log too.
	ID string `json:"id,omitempty" doc:"The id of the request, which the header X-Request-Id and the server's log have too."`
}

// Counts is how many deliveries there are in each state; a state without any is missing.
type Counts map[posthouse.State]int

// Ref names messages or reminders in their sender's own words.
type Ref struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

// Reason says why a person does something.
type Reason struct {
	Reason string `json:"reason,omitempty" doc:"Shown with the thing it is about, and by explain."`
}
