// Package segment is the side of the owner of a campaign's segments: it claims one, stores that members are started before
// anybody is sent to, writes what became of them, renews the lease and gives back what is left. Campaigner keeps campaigns going
// beside that. Package campaign decides which members may be sent to and what follows a result. Nothing here sends.
package segment
