// Package lksms takes over what a server of the SMS document has in its six tables: templates, default
// contents, tasks and the three logs. It can be repeated, and goes on where it was stopped: what is there
// already is passed over. The front door that speaks the document's protocol is internal/front/lksms.
package lksms
