// Package pull hands deliveries to agents: phones and other programs that fetch what
// they send, instead of a driver that is called.
//
//	desk      hands out what is due, and lets agents wait for it
//	holds     starts, renews, gives back and takes away what an agent holds
//	reporter  writes what agents report, many at once
//	roll      notes when agents were last heard of
//
// Package state decides what follows a report or a lost lease. A lease that ends
// without a word is found by the engine's rescuer, as any other is.
package pull
