package sms

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// tc3 signs calls of Tencent Cloud: cloud.tencent.com, document 213/30654, "Signature v3".
type tc3 struct{ id, key, service string }

const (
	tc3Algorithm = "TC3-HMAC-SHA256"
	tc3Content   = "application/json; charset=utf-8"
)

// header are the headers of a call with a body that are signed, with the signature.
func (s tc3) header(to *url.URL, body []byte, now time.Time) http.Header {
	names, canonical := canonicalHeaders(map[string]string{"content-type": tc3Content, "host": to.Host})
	request := strings.Join([]string{http.MethodPost, to.EscapedPath(), "", canonical, names, hexSum(body)}, "\n")
	date := now.UTC().Format(time.DateOnly)
	scope := date + "/" + s.service + "/tc3_request"
	stamp := strconv.FormatInt(now.Unix(), 10)
	key := sum(sum(sum([]byte("TC3"+s.key), date), s.service), "tc3_request")
	signature := hex.EncodeToString(sum(key, strings.Join([]string{tc3Algorithm, stamp, scope, hexSum([]byte(request))}, "\n")))
	return http.Header{
		"Content-Type":   {tc3Content},
		"X-Tc-Timestamp": {stamp},
		"Authorization":  {tc3Algorithm + " Credential=" + s.id + "/" + scope + ", SignedHeaders=" + names + ", Signature=" + signature},
	}
}
