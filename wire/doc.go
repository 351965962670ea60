// Package wire is what goes over the wire: the bodies of requests and answers of the HTTP API, each said once.
// The server reads and writes them, the Go client sends and gets them, and the OpenAPI document is made from
// them. What the vocabulary has already, such as posthouse.Draft and posthouse.Delivery, stands in package
// posthouse and is used as it is.
//
// The package decides nothing and checks nothing: a zero field is one that was left out. The texts behind "doc"
// are those of the OpenAPI document. It imports the vocabulary alone.
package wire
