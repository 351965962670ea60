package state

import (
	"github.com/posthouse/posthouse"
)

// Refusal says who does not let an account send, by the class of the result that closed its gate. account is what the account is
// called in the text.
func Refusal(class posthouse.Class, account string) string {
	switch class {
	case posthouse.ClassBlocked:
		return "this server does not let " + account + " send"
	case posthouse.ClassLocal:
		return "this process sends nothing for the moment for " + account
	}
	return "the provider refuses " + account
}
