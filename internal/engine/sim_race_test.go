//go:build race

package engine

// simDefault is how many seeds there are unless -sim.seeds says: with the race detector each takes
// several times as long.
const simDefault = 5
