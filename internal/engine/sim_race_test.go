//go:build race

package engine

// raced says that the race detector looks on.
const raced = true

// simDefault is how many seeds there are unless -sim.seeds says: with the race detector each takes
// several times as long.
const simDefault = 5
