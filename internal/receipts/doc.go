// Package receipts finds the member of a campaign that a provider's receipt means, without a row for each member, and writes what
// became of it.
//
// The provider's name of a message is its ref. The refs of those who were sent to are packed into blocks, which are stored with
// the results. Tend puts many such blocks in order: a page has the refs whose hashes begin alike. So a look-up reads what was just
// sent, and one page of the rest.
//
// Receipts of ordinary deliveries are those of package callback.
package receipts
