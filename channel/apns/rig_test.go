package apns_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/apns"
	"github.com/posthouse/posthouse/channel/internal/trusted"
)

var certificate tls.Certificate

// TestMain has the process trust the providers of the tests.
func TestMain(m *testing.M) { trusted.Run(m, func(c tls.Certificate) { certificate = c }) }

// key is the text of a .p8 file.
var key = sync.OnceValue(func() string {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

func at(url string) map[string]any {
	return map[string]any{"key": key(), "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ", "topic": "com.example.app", "url": url}
}

// driver opens one that may reach the fake providers.
func driver(t *testing.T, config map[string]any, set map[string]any, change ...func(*channel.Env)) channel.Driver {
	t.Helper()
	config = maps.Clone(config)
	maps.Copy(config, set)
	c, problems := apns.Type().Validate(config)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	env := channel.Env{Tenant: "t1", Channel: "c1", KeepAnswers: true, Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}}
	for _, f := range change {
		f(&env)
	}
	d, err := apns.Type().Open(c, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d
}

func to(token string) channel.Outgoing {
	message := posthouse.NewID()
	id := posthouse.DeliveryID(message, 1)
	return channel.Outgoing{
		Message: message, Delivery: id, IdemKey: id, Attempt: 1, Recipient: posthouse.Recipient{User: "u1", Address: token},
		Content: posthouse.Content{Title: "到账", Text: "您有 12.5 元到账"}, Payload: []byte(`{"order":7}`),
	}
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
