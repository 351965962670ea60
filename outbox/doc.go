// Package outbox hands messages in within the caller's own database transaction: what the
// business wrote and the message that tells of it are committed together or not at all.
//
// The caller's tables and Posthouse's stand in one database. Enqueue writes one row for each
// message into the table outbox, with the caller's transaction and in one statement; after the
// commit a relay inside Posthouse moves the row to where messages are, both in one transaction of
// its own. So a rolled-back transaction leaves no message, a committed one always sends it, and it
// does not matter which process dies when. Report does the same for events of a workflow's tasks.
//
// A message with a dedup key is told by the id of the one that stands for the key, however many hand it in
// at the same time; none of them waits for another, at any isolation level (docs/adr/0015).
//
//	box, err := outbox.New(outbox.Options{Database: outbox.Postgres})
//	…
//	tx, err := db.BeginTx(ctx, nil)
//	… // the business
//	ids, err := box.Enqueue(ctx, tx, posthouse.Draft{Channel: "oa", …})
//	err = tx.Commit()
//
// It is not a client of the HTTP API, which package client is, and it sends nothing: it links no
// SQL driver and opens no connection. Package pgxbox adapts the native handles of pgx. docs/guide/outbox.md says how programs in other languages
// write the table.
package outbox
