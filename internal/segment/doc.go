// Package segment is the side of the owner of a campaign's segments: it claims one, stores that members are started before
// anybody is sent to, writes what became of them, renews the lease and gives back what is left. Campaigner keeps campaigns going
// beside that. Who may be sent to, and what follows a result, is said by package campaign. Nothing here sends.
package segment
