// Package refuge moves deliveries from where they cannot be sent: from an account that cannot send to one that can, and from a
// lane where nobody looks to where its channel is served from. It sends nothing, and knows of channels what it is told.
package refuge
