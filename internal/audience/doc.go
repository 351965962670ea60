// Package audience reads the people that a campaign is for from files, and packs them so that ten million take little room
// and each is found by its address.
//
//	Open ─▶ Reader.Next ─▶ Codec.Pack ─▶ blocks ─▶ Sifter ─▶ index pages, marks of those who stand twice
//	bytes   one record     1,000 members           once all is there
//
// A Reader takes CSV or NDJSON, one record at a time, in bounded memory. A record that cannot be read is a Refused with its
// line and column, and the next one follows. Where the reader stands is a Position: another process goes on from it.
//
// A block is what is stored of up to BlockMembers members. The index names a member's number by a hash of the address. A
// member whose address stands before it already keeps its number and is marked as repeated, so that a number stays the
// number of its line. docs/adr/0028 says why it is stored like this and what else was measured.
//
// It is no part of the database and decides nothing about sending.
package audience
