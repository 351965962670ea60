// Package flow turns what happens to the tasks of a workflow into messages: who is told, by which text,
// when reminders come and when they end. It also speaks the language of the notification document that many
// workflow systems have grown up with: jobs, business types as numbers, and their dedup keys.
//
// It is no workflow engine: it runs no task and decides no node. It stores and sends nothing itself either;
// the few methods it needs of those that do are its own small interfaces.
package flow
