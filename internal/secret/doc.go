// Package secret keeps secrets: it encrypts what is stored and signs what is
// handed out (Keyring), makes and hashes API keys, and masks what is shown.
//
// It is not a vault: the keys of a keyring come from a file or an environment
// variable, and whoever reads both that and the database reads the secrets. It
// stores nothing itself and holds no passwords of people.
package secret
