//go:build !race

package engine

// raced says that the race detector looks on.
const raced = false

// simDefault is how many seeds there are unless -sim.seeds says.
const simDefault = 120
