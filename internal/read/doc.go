// Package read is what people and programs are shown: messages with how their deliveries stand, a delivery's story and
// explanation, the lines of the logs, and what a template would read like. The API, the fronts of other documents
// and the console read by it, so that what may not be shown is hidden in one place.
//
// It changes nothing and knows no HTTP. What it answers are the types of package wire.
package read
