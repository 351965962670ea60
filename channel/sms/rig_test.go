package sms_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/sms"
)

const secret = "a-secret/of+ours=0123"

func aliyunAt(url string) map[string]any {
	return map[string]any{"provider": "aliyun", "access_key": "LTAI5tExample", "secret": secret, "sign": "驿站", "template_id": "SMS_1", "url": url, "voice_url": url}
}

func tencentAt(url string) map[string]any {
	return map[string]any{
		"provider": "tencent", "access_key": "AKIDExample", "secret": secret, "sign": "驿站", "template_id": "1001", "app_id": "1400006666",
		"parameters": []any{"name", "amount"}, "url": url,
	}
}

// driver opens one that may reach the fake providers.
func driver(t *testing.T, config map[string]any, set map[string]any, change ...func(*channel.Env)) channel.BatchDriver {
	t.Helper()
	config = maps.Clone(config)
	maps.Copy(config, set)
	c, problems := sms.Type().Validate(config)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	env := channel.Env{Tenant: "t1", Channel: "c1", KeepAnswers: true, Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}}
	for _, f := range change {
		f(&env)
	}
	d, err := sms.Type().Open(c, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d.(channel.BatchDriver)
}

// to is a message to some numbers.
func to(numbers ...string) []channel.Outgoing {
	message := posthouse.NewID()
	outs := make([]channel.Outgoing, len(numbers))
	for i, number := range numbers {
		id := posthouse.DeliveryID(message, i+1)
		outs[i] = channel.Outgoing{
			Message: message, Delivery: id, IdemKey: id, Attempt: 1, Recipient: posthouse.Recipient{User: fmt.Sprintf("u%d", i+1), Address: number},
			Content: posthouse.Content{Text: "王芳，您有 12.5 元到账"}, Payload: []byte(`{"name":"王芳","amount":12.5}`),
		}
	}
	return outs
}

func classes(results []channel.Result) (list []posthouse.Class) {
	for _, r := range results {
		list = append(list, r.Class)
	}
	return list
}
