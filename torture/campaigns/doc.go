// Package campaigns holds the test of a campaign whose servers are killed again and again (F1 of docs/reliability.md): each
// member is counted in the export, in what the campaign says of itself, and at the provider, and the three must agree.
//
// It has no code of its own: everything here is tests.
package campaigns
