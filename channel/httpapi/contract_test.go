package httpapi_test

import (
	"testing"

	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/httpapi"
)

const apiKey = "k-5f2b9c71d8e04"

func TestContractWithAJSONAnswer(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: httpapi.Type(),
		Config: func(url string) map[string]any {
			return map[string]any{
				"url":                url + "/send/${type}?key=${secret.key}&to=${address}",
				"headers":            map[string]any{"Authorization": "Bearer " + apiKey, "X-Ref": "${ref}"},
				"secrets":            map[string]any{"key": apiKey},
				"body":               `{"to": "${address}", "title": "${title}", "text": "${text}", "attempt": ${attempt}, "payload": ${payload}}`,
				"success_path":       "$.code",
				"success_values":     []any{"0"},
				"id_path":            "$.msgid",
				"message_path":       "$.message",
				"idempotency_header": "Idempotency-Key",
				"idempotency_window": "1h",
			}
		},
		Accept:  channeltest.Reply(200, `{"code":0,"message":"ok","msgid":"m-1"}`),
		Secrets: []string{apiKey},
	})
}

func TestContractWithATextAnswer(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: httpapi.Type(),
		Config: func(url string) map[string]any {
			return map[string]any{
				"url": url, "method": "PUT", "encoding": "form",
				"body":         "to=${address}&text=${text}&pass=${secret.pass}",
				"secrets":      map[string]any{"pass": "p&ss w=rd\"1"},
				"success_text": "ACCEPTED",
				"code_path":    `/ERR (\d+)/`,
			}
		},
		Accept:  channeltest.Reply(200, "ACCEPTED 17"),
		Secrets: []string{"p&ss w=rd\"1"},
	})
}

// awkward is a secret that every encoding writes in another way.
const awkward = `p&ss'word"<1>\é/=%`

// A secret is hidden in whatever form it is written and echoed.
func TestContractOfSecretsInEveryEncoding(t *testing.T) {
	for encoding, body := range map[string]string{
		"json": `{"to": "${address}", "text": "${text}", "pass": "${secret.pass}", "whole": ${secret.pass}}`,
		"form": "to=${address}&text=${text}&pass=${secret.pass}",
		"xml":  `<m pass="${secret.pass}"><to>${address}</to><text>${text}</text><p>${secret.pass}</p></m>`,
		"text": "${address} ${text} ${secret.pass}",
	} {
		t.Run(encoding, func(t *testing.T) {
			channeltest.Run(t, channeltest.Case{
				Type: httpapi.Type(),
				Config: func(url string) map[string]any {
					return map[string]any{
						"url": url + "/${secret.pass}/send?p=${secret.pass}", "encoding": encoding, "body": body,
						"headers":      map[string]any{"X-Ref": "${secret.pass}"},
						"secrets":      map[string]any{"pass": awkward},
						"success_text": "ACCEPTED",
						"code_path":    `/ERR (\d+)/`,
						"message_path": `/(?s).*/`,
					}
				},
				Accept:  channeltest.Reply(200, "ACCEPTED 17"),
				Secrets: []string{awkward},
			})
		})
	}
}

func TestContractWithoutABody(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: httpapi.Type(),
		Config: func(url string) map[string]any {
			return map[string]any{
				"url": url + "/?to=${address}&text=${text}", "method": "GET",
				"idempotency_header": "X-Idempotency-Key", "idempotency_window": "10m",
				"success_path": `/^OK/`,
			}
		},
		Accept: channeltest.Reply(200, "OK"),
	})
}

func TestContractOfABatch(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: httpapi.Type(),
		Config: func(url string) map[string]any {
			return map[string]any{
				"url": url, "batch": 100,
				"body":           `{"to": ${addresses}, "users": "${users}", "text": "${text}"}`,
				"success_path":   "$.code",
				"success_values": []any{"0"},
			}
		},
		Accept: channeltest.Reply(200, `{"code":0}`),
	})
}

func TestContractOfAddressesInOneForm(t *testing.T) {
	for kind, of := range map[string]struct {
		address string
		same    []string
	}{
		"phone":    {"13800000001", []string{"+8613800000001", "+86 138-0000-0001"}},
		"phone_cn": {"+8613800000001", []string{"13800000001", "0086 138 0000 0001"}},
		"mail":     {"Duty.Desk@example.com", []string{"Duty.Desk@EXAMPLE.com", " Duty.Desk@Example.COM. "}},
	} {
		t.Run(kind, func(t *testing.T) {
			channeltest.Run(t, channeltest.Case{
				Type: httpapi.Type(),
				Config: func(url string) map[string]any {
					return map[string]any{"url": url, "body": `{"to": "${address}", "text": "${text}"}`, "addresses": kind, "success_path": "$.code", "success_values": []any{"0"}}
				},
				Accept:  channeltest.Reply(200, `{"code":0}`),
				Address: func(string) string { return of.address },
				Same:    of.same,
			})
		})
	}
}
