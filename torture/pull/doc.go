// Package pull tests phones that fetch: sixteen of them on two servers, while servers and
// phones are killed, requests and answers get lost, phones are slow, and reports are
// repeated and contradicted. Nothing may be lost, finished twice or opened again, which
// posthouse verify decides from the event log and from what the phones wrote down.
//
// Its phones are written here, apart from the sender app of the product, and each keeps
// two journals that its death does not touch: what it was told, and what it has sent.
// It has no code of its own: everything here is tests.
package pull
