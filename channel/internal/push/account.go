package push

import (
	"encoding/json"
	"errors"
	"strings"
)

// Account is a service account, as the file says that Google or Huawei lets one download.
type Account struct {
	Project string `json:"project_id"`
	KeyID   string `json:"private_key_id"` // Google's name for it
	Key     string `json:"private_key"`
	Email   string `json:"client_email"` // Google's

	HuaweiKeyID string `json:"key_id"`
	SubAccount  string `json:"sub_account"`
}

// ReadAccount reads the text of such a file.
func ReadAccount(text string) (a Account, err error) {
	if err := json.Unmarshal([]byte(strings.TrimSpace(text)), &a); err != nil {
		return a, errors.New("is not the JSON file of a service account, which begins with { and has a private_key")
	}
	if a.Key == "" {
		return a, errors.New("has no private_key: want the whole file that the provider's console lets you download for the service account")
	}
	return a, nil
}
