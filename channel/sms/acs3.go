package sms

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// acs3 signs calls of Aliyun: help.aliyun.com, "V3 version of the request body and signature mechanism".
type acs3 struct{ key, secret string }

const acs3Algorithm = "ACS3-HMAC-SHA256"

// header are the headers of a call of an action, with its signature.
func (s acs3) header(method string, to *url.URL, action, version, nonce string, now time.Time) http.Header {
	sign := map[string]string{
		"host": to.Host, "x-acs-action": action, "x-acs-version": version, "x-acs-signature-nonce": nonce,
		"x-acs-date": now.UTC().Format("2006-01-02T15:04:05Z"), "x-acs-content-sha256": hexSum(nil),
	}
	names, canonical := canonicalHeaders(sign)
	request := strings.Join([]string{method, to.EscapedPath(), to.RawQuery, canonical, names, sign["x-acs-content-sha256"]}, "\n")
	signature := hex.EncodeToString(sum([]byte(s.secret), acs3Algorithm+"\n"+hexSum([]byte(request))))
	header := http.Header{"Authorization": {acs3Algorithm + " Credential=" + s.key + ",SignedHeaders=" + names + ",Signature=" + signature}}
	for name, value := range sign {
		if name != "host" {
			header[http.CanonicalHeaderKey(name)] = []string{value}
		}
	}
	return header
}

// canonicalHeaders are the names of headers, and the headers themselves, as both providers sign them.
func canonicalHeaders(list map[string]string) (names, lines string) {
	sorted := slices.Sorted(maps.Keys(list))
	for _, name := range sorted {
		lines += name + ":" + strings.TrimSpace(list[name]) + "\n"
	}
	return strings.Join(sorted, ";"), lines
}

// escaped is a query in the one form that is signed: sorted, and escaped by RFC 3986.
func escaped(list map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		pairs = append(pairs, escape(name)+"="+escape(list[name]))
	}
	return strings.Join(pairs, "&")
}

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

func hexSum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func sum(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
