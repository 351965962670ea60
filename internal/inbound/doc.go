// Package inbound takes messages from senders of other makers, in the form that each of them speaks already: the framework of fronts.
//
//	call ──▶ whose form? ──▶ body within its bound? ──▶ token known? ──▶ Form.Read ──▶ accepted, with dedup ──▶ Form.Answer
//	             │ nobody's       │ no                      │ no              │ no           │ no
//	             ▼                ▼                         ▼                 ▼              ▼
//	            404              too large                 unauthorized      refused        unavailable: come again
//
// A Form is the language of one sender: how its request becomes messages, and how it is told what became of it. It knows no database,
// no token and no channel; each is a package below internal/front. The Desk does for all of them what is the same: it finds whose the
// token is, bounds what it reads, hands the messages in for the front's channel and recipients, answers once they are committed, counts,
// and keeps the last bodies, masked and sealed.
//
// A token is never written to a log, an answer or the database: of that there is only its hash.
package inbound
