// Package channel is what a driver is: the contract between the engine and the
// code that talks to a provider, and the kit that drivers are built from.
//
// A driver is a Type: a table literal that names its configuration fields, its
// limits and how to open it. Opened with a channel's configuration it is a
// Driver, which sends one delivery and answers with a Result whose Class tells
// the engine what to do. It holds no queue, no retry and no limit of its own:
// those are the engine's.
//
// The drivers live in the folders below, one a provider; channel/builtin lists
// them, and channel/channeltest is the suite that each must pass.
package channel
