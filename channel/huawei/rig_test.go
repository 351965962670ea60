package huawei_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/huawei"
)

// account is the file of a service account, with a key of its own.
var account = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	b, _ := json.Marshal(map[string]string{
		"project_id": "100000001", "key_id": "k1", "sub_account": "100000002",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	return string(b)
})

func at(url string) map[string]any {
	return map[string]any{"service_account": account(), "url": url, "category": "WORK"}
}

// driver opens one that may reach the fake providers.
func driver(t *testing.T, config map[string]any, set map[string]any, change ...func(*channel.Env)) channel.BatchDriver {
	t.Helper()
	config = maps.Clone(config)
	maps.Copy(config, set)
	c, problems := huawei.Type().Validate(config)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	env := channel.Env{Tenant: "t1", Channel: "c1", KeepAnswers: true, Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}}
	for _, f := range change {
		f(&env)
	}
	d, err := huawei.Type().Open(c, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d.(channel.BatchDriver)
}

// to is a message to some devices.
func to(tokens ...string) []channel.Outgoing {
	message := posthouse.NewID()
	outs := make([]channel.Outgoing, len(tokens))
	for i, token := range tokens {
		id := posthouse.DeliveryID(message, i+1)
		outs[i] = channel.Outgoing{
			Message: message, Delivery: id, IdemKey: id, Attempt: 1, Recipient: posthouse.Recipient{User: fmt.Sprint("u", i+1), Address: token},
			Content: posthouse.Content{Title: "到账", Text: "您有 12.5 元到账"}, Payload: []byte(`{"order":7}`),
		}
	}
	return outs
}

// reply answers with a status and a body.
func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
