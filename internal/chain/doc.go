// Package chain makes changes behind the program's back evident: it seals what is stored in links of a hash chain, and
// compares them with what is stored later.
//
// A link (work.Checkpoint) seals the messages of a range of ids: Low is before the first, High behind the last. Its body has a
// line for each, with a hash of the message's row, and for each delivery a hash of what never changes of its row and of its
// events so far. The link's hash is over its fields, the hash of its body and the hash of the link before.
//
// Every message is sealed four times, each time when it is older: then more of its history has ended. Of a range that
// was sealed anew the older body goes, and the link stays. So the last link's hash stands for all of it; who keeps that
// elsewhere finds a chain that was made anew, too.
//
// The package decides nothing about deliveries, and no write waits for it: the sealer reads what others have committed.
package chain
