// Package duty is the front for the duty-notice document: POST and GET /v1/notices and the duty schedule, in the
// document's field names, platforms and status words. A notice is a message of one delivery with the kind notice; its
// number is the delivery's id.
//
// The decisions what is sent, when, and to whom are made behind it: by the engine, the channel's settings and the rule of the
// roster. The native form of all of it is /v1/messages and /v1/rosters in package api.
package duty
