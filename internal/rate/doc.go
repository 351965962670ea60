// Package rate finds out how fast an account may go, and keeps it there.
//
// A provider's limit is often not documented, or not true. [State.Step] is a pure function from what was seen of an account
// in the last moment to the rate it may have in the next one; nothing in it reads a clock, a database or a random number.
// The rate is a product that can be shown and explained:
//
//	rate = base × health × success × load × time
//
// The base is what the operator configured or, without that, the limit that was learned. Health is how much of it the
// provider bears at the moment: it rises while calls succeed, falls where the provider refuses, fails or slows down, and
// is 0 while the account is parked. See [Factors] for the others.
//
// Known windows of a provider (20 a minute for a robot) are not learned here: package limit holds them exactly. This
// package finds what lies below those windows, and what nobody has documented.
package rate
