//go:build !race

package engine

// simDefault is how many seeds there are unless -sim.seeds says.
const simDefault = 120
