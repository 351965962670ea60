// Package retry decides when a failed delivery is tried again and when it is
// given up: tables of waits, and pure functions over them.
//
// It sends nothing, sleeps never and reads no clock. The engine passes in what
// it knows (the class of the failure, how many came before, the provider's own
// wait, a random number) and writes the answer into the delivery.
package retry
