package sms

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The requests and signatures of the providers' own documents.

func TestTheSignatureOfAliyunsDocument(t *testing.T) {
	t.Parallel()
	to, err := url.Parse("https://ecs.cn-shanghai.aliyuncs.com/")
	if err != nil {
		t.Fatal(err)
	}
	to.RawQuery = escaped(map[string]string{"RegionId": "cn-shanghai", "ImageId": "win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd"})
	at := time.Date(2023, 10, 26, 10, 22, 32, 0, time.UTC)
	header := acs3{"YourAccessKeyId", "YourAccessKeySecret"}.header(http.MethodPost, to, "RunInstances", "2014-05-26", "3156853299f313e23d1673dc12e1703d", at)
	if got, want := header.Get("Authorization"), "Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want it to end in %s", got, want)
	}
}

func TestTheSignatureOfTencentsDocument(t *testing.T) {
	t.Parallel()
	to, err := url.Parse("https://cvm.tencentcloudapi.com/")
	if err != nil {
		t.Fatal(err)
	}
	body := `{"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], "Name": "instance-name"}]}`
	header := tc3{"AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE", "Gu5t9xGARNpq86cd98joQYCN3EXAMPLE", "cvm"}.header(to, []byte(body), time.Unix(1551113065, 0))
	if got, want := header.Get("Authorization"), "Signature=72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168"; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want it to end in %s", got, want)
	}
}

func TestWhatIsSignedIsEscapedByRFC3986(t *testing.T) {
	t.Parallel()
	got := escaped(map[string]string{"b": "a b*~+/", "a": "值"})
	if want := "a=%E5%80%BC&b=a%20b%2A~%2B%2F"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
