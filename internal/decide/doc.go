// Package decide does what people decide about single deliveries: it withdraws them, and takes a person's word on those that
// are unknown or quarantined. What they decide about many it carries out step by step. What follows which decision is package state's.
package decide
