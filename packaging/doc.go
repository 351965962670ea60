// Command packaging makes what one downloads: archives, deb and rpm, container images, checksums, a list of what is inside, and the
// notes of the release. It needs no Docker and no network, and makes the same bytes of the same commit twice: every time in
// its files is that of the commit. It is a module of its own, so that the tools it uses are not dependencies of Posthouse.
package main
