package simulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SMSSecret is the secret of every access key at Aliyun and Tencent Cloud, as long as Options name no other.
const SMSSecret = "simulated-secret"

// How far from their own clock Aliyun and Tencent take a signature's time.
const (
	acs3Skew = 15 * time.Minute
	tc3Skew  = 5 * time.Minute
)

// credential is an Authorization header: an algorithm and its members.
type credential struct {
	algorithm string
	members   map[string]string
}

func credentialOf(r *http.Request) credential {
	c := credential{members: map[string]string{}}
	algorithm, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	c.algorithm = algorithm
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		c.members[name] = value
	}
	return c
}

// signed are the headers that a signature covers, with the request's own host, or another.
func (c credential) signed(r *http.Request, host string) (lines string) {
	for name := range strings.SplitSeq(c.members["SignedHeaders"], ";") {
		value := strings.TrimSpace(r.Header.Get(name))
		if name == "host" {
			value = host
		}
		if name == "x-tc-action" { // Tencent's own programs sign it in small letters
			value = strings.ToLower(value)
		}
		lines += name + ":" + value + "\n"
	}
	return lines
}

// covers reports whether a signature covers some headers.
func (c credential) covers(names ...string) bool {
	signed := strings.Split(c.members["SignedHeaders"], ";")
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(signed, name) })
}

// hosts are the names that a request's host may be signed by: some programs leave the port out.
func hosts(r *http.Request) []string {
	name, _, _ := strings.Cut(r.Host, ":")
	return []string{r.Host, name}
}

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func macOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// verifyACS3 looks at Aliyun's signature, of the host, the action and the parameters that came.
func verifyACS3(r *http.Request, body []byte, secret string, now time.Time) *refusal {
	c := credentialOf(r)
	at, err := time.Parse("2006-01-02T15:04:05Z", r.Header.Get("X-Acs-Date"))
	switch {
	case c.algorithm != "ACS3-HMAC-SHA256" || c.members["Signature"] == "":
		return unauthorized("IncompleteSignature", "The request signature does not conform to Aliyun standards.")
	case !c.covers("host", "x-acs-action", "x-acs-version", "x-acs-date", "x-acs-signature-nonce", "x-acs-content-sha256"):
		return unauthorized("IncompleteSignature", "a header that must be signed is not")
	case c.members["Credential"] == "" || strings.HasPrefix(c.members["Credential"], "wrong"):
		return unauthorized("InvalidAccessKeyId.NotFound", "Specified access key is not found.")
	case err != nil:
		return unauthorized("InvalidTimeStamp.Format", "Specified time stamp or date value is not well formatted.")
	case now.Sub(at).Abs() > acs3Skew:
		return unauthorized("InvalidTimeStamp.Expired", "Specified time stamp or date value is expired.")
	case r.Header.Get("X-Acs-Content-Sha256") != hexOf(body):
		return unauthorized("SignatureDoesNotMatch", "x-acs-content-sha256 is not that of the body")
	}
	for _, host := range hosts(r) {
		request := strings.Join([]string{r.Method, r.URL.EscapedPath(), sortedQuery(r.URL), c.signed(r, host), c.members["SignedHeaders"], hexOf(body)}, "\n")
		if hmac.Equal([]byte(hex.EncodeToString(macOf([]byte(secret), "ACS3-HMAC-SHA256\n"+hexOf([]byte(request))))), []byte(c.members["Signature"])) {
			return nil
		}
	}
	return unauthorized("SignatureDoesNotMatch", "Specified signature is not matched with our calculation.")
}

// verifyTC3 looks at Tencent's signature; the service and the date stand in the scope that the request names.
func verifyTC3(r *http.Request, body []byte, secret string, now time.Time) *refusal {
	c := credentialOf(r)
	scope := strings.Split(c.members["Credential"], "/")
	stamp, err := strconv.ParseInt(r.Header.Get("X-Tc-Timestamp"), 10, 64)
	at := time.Unix(stamp, 0)
	switch {
	case c.algorithm != "TC3-HMAC-SHA256" || len(scope) != 4 || scope[3] != "tc3_request" || !c.covers("host", "content-type"):
		return unauthorized("AuthFailure.SignatureFailure", "The Authorization header is not as TC3-HMAC-SHA256 has it.")
	case strings.HasPrefix(scope[0], "wrong"):
		return unauthorized("AuthFailure.SecretIdNotFound", "The SecretId is not found.")
	case err != nil || now.Sub(at).Abs() > tc3Skew || at.UTC().Format(time.DateOnly) != scope[1]:
		return unauthorized("AuthFailure.SignatureExpire", "The signature has expired: the time of the request is too far from the server's.")
	}
	for _, host := range hosts(r) {
		request := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, c.signed(r, host), c.members["SignedHeaders"], hexOf(body)}, "\n")
		key := macOf(macOf(macOf([]byte("TC3"+secret), scope[1]), scope[2]), "tc3_request")
		sign := strings.Join([]string{"TC3-HMAC-SHA256", r.Header.Get("X-Tc-Timestamp"), strings.Join(scope[1:], "/"), hexOf([]byte(request))}, "\n")
		if hmac.Equal([]byte(hex.EncodeToString(macOf(key, sign))), []byte(c.members["Signature"])) {
			return nil
		}
	}
	return unauthorized("AuthFailure.SignatureFailure", "The signature is not the one that was calculated.")
}

func unauthorized(own, text string) *refusal {
	return &refusal{code: Unauthorized, own: own, text: text}
}

// sortedQuery is a query in the form that is signed.
func sortedQuery(u *url.URL) string {
	var pairs []string
	for name, values := range u.Query() {
		for _, v := range values {
			pairs = append(pairs, escaped(name)+"="+escaped(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func escaped(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
