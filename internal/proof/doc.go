// Package proof makes and checks proofs: signed statements of what became of a message, for those who must show it later and to others.
//
// A statement is a text of JSON that is carried as it is and signed by Ed25519, so that openssl checks it. Besides what is known of the
// message it has what the hash chain says of it, as far as others can compute that again. Maker makes proofs, Check checks one
// without a server, and Page draws it to be read and printed.
//
// The package decides nothing about who may see what: it reads as a viewer does, and shows a hidden content where its caller says so.
package proof
