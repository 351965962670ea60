// Package notify is the front for the notification document: its jobs, by their numbers, at /v1/notify/jobs. A job is a
// message or a reminder; what the numbers mean is package flow's.
//
// The native form is /v1/workflow, /v1/messages and /v1/reminders in package api.
package notify
