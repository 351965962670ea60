// Package feed hands on what happens to deliveries, in the order of the store's feed: to readers that wait for more (Log), and
// from there to live streams, hooks and, by Courier, to the addresses that have subscribed. Keeper keeps the feed itself:
// its order, its length, and whether it is written at all.
//
// It decides nothing about deliveries, and nothing on their way waits for it.
package feed
