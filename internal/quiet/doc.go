// Package quiet says when people are not to be disturbed: quiet hours as they stand on a clock, in any zone, and the caps that hold for a
// message. It is not what counts caps, which is package limit, and not what becomes of a delivery, which is package state.
//
//	hours    until when somebody is left alone
//	caps     which windows count a message to somebody
//	check    what is wrong with either as it is set
//	keeper   those of tenants, with the calendars and zones that hours need
package quiet
