// Package remind says when a reminder's messages are due and what each of them is: the slots of a countdown
// or a repeat, which of them were missed, until when one is worth sending, and what follows after the last.
//
// Reminders are plans: the store keeps them as JSON documents with a version and a next moment, and the
// engine's planner asks the Composer here when that moment has come. All of it is arithmetic on a document
// and a time; nothing here reads a database, a clock or a directory.
package remind
