// Package callback takes what providers tell us by themselves: the calls that they make to an address of a channel, which its
// driver verifies, and the receipts in them.
//
//	call ──▶ address known? ──▶ within its bounds? ──▶ driver verifies ──▶ heard before? ──▶ receipts written ──▶ answer
//	             │ no                │ no                  │ no               │ with another body
//	             ▼                   ▼                     ▼                  ▼
//	            403                 429                   403                403
//
// A caller who is refused is told nothing: not whether there is such an address, nor what is wrong. What no delivery waits for
// yet is kept in the database, and Run looks at it again until it does.
//
// What is no receipt, such as a button that somebody has pressed, goes to the followers of the feed. What a recipient answered goes to what
// decides about acknowledgements, and to no follower.
//
// It decides nothing about deliveries: what follows from a receipt is package state's.
package callback
