package simulator

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Who signs for the one project, the one app and the one team that the push services know.
const (
	pushProject = "posthouse-simulator"
	pushEmail   = "posthouse@posthouse-simulator.iam.gserviceaccount.com"
	pushKeyID   = "SIMULATED1"
	pushTeam    = "SIMULATED2"
	huaweiID    = "100000001"
	huaweiSub   = "100000002"
	pushSkew    = 5 * time.Minute
)

// pushKey is a private key that a push service has given out: made when it is first asked for.
type pushKey struct {
	algorithm jose.SignatureAlgorithm
	once      sync.Once
	key       crypto.Signer
	text      string // in PEM, PKCS #8
}

func (k *pushKey) make() {
	k.once.Do(func() {
		var err error
		if k.algorithm == jose.ES256 {
			k.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		} else {
			k.key, err = rsa.GenerateKey(rand.Reader, 2048)
		}
		var der []byte
		if err == nil {
			der, err = x509.MarshalPKCS8PrivateKey(k.key)
		}
		if err != nil {
			panic(fmt.Sprintf("simulator: no key can be made: %v", err)) // the system has no randomness
		}
		k.text = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	})
}

// claims are what an assertion says that is signed by the key, and is not too old.
func (k *pushKey) claims(text, id string, now time.Time) (map[string]any, error) {
	k.make()
	signed, err := jose.ParseSigned(text, []jose.SignatureAlgorithm{k.algorithm})
	if err != nil {
		return nil, err
	}
	if got := signed.Signatures[0].Header.KeyID; got != id && got != "" { // Google's own programs leave it out
		return nil, fmt.Errorf("there is no key %.40q", got)
	}
	body, err := signed.Verify(k.key.Public())
	if err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := json.Unmarshal(body, &claims); err != nil {
		return nil, err
	}
	at, _ := claims["iat"].(float64)
	age := now.Sub(time.Unix(int64(at), 0))
	if age > time.Hour || age < -pushSkew {
		return claims, errStale
	}
	return claims, nil
}

// errStale is an assertion that is older than an hour, or of a clock that is ahead.
var errStale = errors.New("the token must be of the last hour")

// download hands out a file, as a provider's console does.
func download(name string, text func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.WriteString(w, text())
	}
}

// bearer is the token of a request.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// fcmCodes are Google's.
var fcmCodes = map[Code]string{
	UnknownUser: "UNREGISTERED", RefusedContent: "INVALID_ARGUMENT", Malformed: "INVALID_ARGUMENT", TooFast: "QUOTA_EXCEEDED", Busy: "UNAVAILABLE", Unauthorized: "UNAUTHENTICATED",
}

// google is Firebase: one project with one service account.
type google struct {
	key    pushKey
	tokens tokens
}

func fcm() provider {
	g := &google{key: pushKey{algorithm: jose.RS256}}
	return provider{
		name: "fcm", title: "Firebase Cloud Messaging", titleZH: "FCM 推送", path: "/fcm/", prefix: "fc",
		read: g.read, status: fcmStatus, answer: answerFCM,
		more: &more{
			settle: wholly, forget: func() {}, hosts: []string{"fcm.googleapis.com"},
			paths: map[string]http.HandlerFunc{
				"POST /fcm/token": g.token, "POST oauth2.googleapis.com/token": g.token, "DELETE /fcm/tokens": g.tokens.drop,
				"GET /fcm/service-account.json": download("service-account.json", g.account),
			},
		},
	}
}

// account is the file of the service account.
func (g *google) account() string {
	g.key.make()
	return jsonLine(map[string]string{ //nolint:gosec // a key that each start makes anew
		"type": "service_account", "project_id": pushProject, "private_key_id": pushKeyID, "private_key": g.key.text, "client_email": pushEmail,
		"token_uri": "https://oauth2.googleapis.com/token",
	})
}

// token answers a request for an access token: RFC 7523.
func (g *google) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(code, why string) {
		inJSON(jsonLine(map[string]string{"error": code, "error_description": why})).send(w, http.StatusBadRequest)
	}
	body, err := readBody(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	in, err := url.ParseQuery(string(body))
	if err != nil || in.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		refuse("unsupported_grant_type", "Invalid grant_type: "+in.Get("grant_type"))
		return
	}
	claims, err := g.key.claims(in.Get("assertion"), pushKeyID, time.Now())
	switch {
	case err != nil:
		refuse("invalid_grant", "Invalid JWT: "+err.Error())
	case claims["iss"] != pushEmail:
		refuse("invalid_grant", "Invalid grant: account not found")
	case claims["aud"] != "https://oauth2.googleapis.com/token":
		refuse("invalid_grant", "Invalid JWT audience")
	case !strings.Contains(fmt.Sprint(claims["scope"]), "firebase.messaging"):
		refuse("invalid_scope", "Invalid OAuth scope")
	default:
		inJSON(fmt.Sprintf(`{"access_token":%q,"expires_in":3599,"token_type":"Bearer"}`, g.tokens.give(pushEmail))).send(w, http.StatusOK)
	}
}

func (g *google) read(r *http.Request, body []byte) (order, *refusal) {
	if !g.tokens.has(bearer(r)) {
		return order{}, &refusal{code: Unauthorized, text: "Request had invalid authentication credentials."}
	}
	if !strings.HasSuffix(r.URL.Path, "/v1/projects/"+pushProject+"/messages:send") {
		return order{}, strange("NOT_FOUND", "the project is not %s", pushProject)
	}
	var in struct {
		Message struct {
			Token        string
			Notification *struct{ Title, Body string }
			Data         map[string]string
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("Invalid JSON payload received: %v", err)
	}
	m := message{user: in.Message.Token, key: keysOf(r, 1)[0]}
	if n := in.Message.Notification; n != nil {
		m.title, m.text = n.Title, n.Body
	} else {
		m.title, m.text = in.Message.Data["title"], in.Message.Data["body"]
	}
	switch {
	case m.user == "":
		return order{}, malformed("Recipient of the message is not set.")
	case len(body) > 4096+1024:
		return order{}, malformed("Android message is too big")
	}
	return order{messages: []message{m}, account: pushProject}, nil
}

func fcmStatus(code Code) int {
	if code == RefusedContent || code == Malformed {
		return http.StatusBadRequest
	}
	return statusOr(http.StatusOK)(code)
}

func answerFCM(results []result) reply {
	ref := results[0].refusal
	if ref == nil {
		return inJSON(jsonLine(map[string]string{"name": "projects/" + pushProject + "/messages/" + results[0].id}))
	}
	code := ownCode(ref, fcmCodes)
	out := inJSON(jsonLine(map[string]any{"error": map[string]any{
		"status": code, "message": ref.text, "details": []any{map[string]string{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}},
	}}))
	out.wait = ref.wait
	return out
}

// apnsCodes are Apple's.
var apnsCodes = map[Code]string{
	UnknownUser: "Unregistered", RefusedContent: "PayloadEmpty", Malformed: "PayloadEmpty", TooFast: "TooManyRequests", Busy: "ServiceUnavailable", Unauthorized: "InvalidProviderToken",
}

// apple knows one team with one key, and any app.
type apple struct{ key pushKey }

func apns() provider {
	a := &apple{key: pushKey{algorithm: jose.ES256}}
	return provider{
		name: "apns", title: "Apple push", titleZH: "苹果推送 APNs", path: "/apns/3/device/{token}", prefix: "ap",
		read: a.read, status: apnsStatus, answer: answerAPNs,
		more: &more{
			settle: wholly, forget: func() {}, hosts: []string{"api.push.apple.com", "api.sandbox.push.apple.com"},
			paths: map[string]http.HandlerFunc{"GET /apns/AuthKey.p8": download("AuthKey_"+pushKeyID+".p8", func() string { a.key.make(); return a.key.text })},
		},
	}
}

func (a *apple) read(r *http.Request, body []byte) (order, *refusal) {
	claims, err := a.key.claims(bearer(r), pushKeyID, time.Now())
	switch {
	case errors.Is(err, errStale):
		return order{}, &refusal{code: Unauthorized, own: "ExpiredProviderToken", text: err.Error()}
	case err != nil || claims["iss"] != pushTeam:
		return order{}, &refusal{code: Unauthorized, text: "the token is not of the team"}
	case r.Header.Get("Apns-Topic") == "":
		return order{}, strange("MissingTopic", "apns-topic is missing")
	}
	var in struct {
		APS struct {
			Alert struct{ Title, Body string }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || in.APS.Alert.Body == "" {
		return order{}, strange("PayloadEmpty", "the body is no notification with an alert")
	}
	if len(body) > 4096 {
		return order{}, strange("PayloadTooLarge", "the notification has %d bytes", len(body))
	}
	m := message{user: path.Base(r.URL.Path), title: in.APS.Alert.Title, text: in.APS.Alert.Body, key: keysOf(r, 1)[0]}
	return order{messages: []message{m}, account: r.Header.Get("Apns-Topic")}, nil
}

func apnsStatus(code Code) int {
	switch code {
	case UnknownUser:
		return http.StatusGone
	case Unauthorized:
		return http.StatusForbidden
	case RefusedContent, Malformed:
		return http.StatusBadRequest
	}
	return statusOr(http.StatusOK)(code)
}

func answerAPNs(results []result) reply {
	if ref := results[0].refusal; ref != nil {
		out := inJSON(jsonLine(map[string]string{"reason": ownCode(ref, apnsCodes)}))
		out.wait = ref.wait
		return out
	}
	return reply{kind: "application/json", header: map[string]string{"Apns-Id": results[0].id}}
}

// huaweiCodes are Huawei's.
var huaweiCodes = map[Code]string{
	UnknownUser: "80300007", RefusedContent: "80100016", Malformed: "80100003", TooFast: "80300013", Busy: "80600003", Unauthorized: "80200001",
}

// huawei knows one project with one service account.
type huawei struct{ key pushKey }

func huaweiPush() provider {
	h := &huawei{key: pushKey{algorithm: jose.PS256}}
	return provider{
		name: "huawei", title: "Huawei push v3", titleZH: "华为推送 v3", path: "/huawei/", prefix: "hw",
		read: h.read, status: huaweiStatus, answer: answerHuawei,
		more: &more{
			settle: func([]*refusal) {}, forget: func() {}, hosts: []string{"push-api.cloud.huawei.com"},
			paths: map[string]http.HandlerFunc{"GET /huawei/service-account.json": download("service-account.json", h.account)},
		},
	}
}

// account is the file of the service account.
func (h *huawei) account() string {
	h.key.make()
	return jsonLine(map[string]string{"project_id": huaweiID, "key_id": pushKeyID, "private_key": h.key.text, "sub_account": huaweiSub})
}

func (h *huawei) read(r *http.Request, body []byte) (order, *refusal) {
	claims, err := h.key.claims(bearer(r), pushKeyID, time.Now())
	switch {
	case errors.Is(err, errStale):
		return order{}, &refusal{code: Unauthorized, own: "80200003", text: err.Error()}
	case err != nil || claims["iss"] != huaweiSub:
		return order{}, &refusal{code: Unauthorized, text: "the token is not of the service account"}
	case !strings.HasSuffix(r.URL.Path, "/v3/"+huaweiID+"/messages:send"):
		return order{}, strange("80300002", "the project is not %s", huaweiID)
	case r.Header.Get("Push-Type") != "0":
		return order{}, strange("80100001", "push-type is %q", r.Header.Get("Push-Type"))
	}
	var in struct {
		Payload struct {
			Notification struct{ Title, Body, Category string }
		}
		Target struct{ Token []string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	n := in.Payload.Notification
	switch to := in.Target.Token; {
	case n.Title == "" || n.Body == "":
		return order{}, malformed("title or body is missing")
	case len(to) == 0 || len(to) > 1000:
		return order{}, strange("80300010", "target.token has %d tokens", len(to))
	}
	ord := order{together: true, account: huaweiID, messages: make([]message, len(in.Target.Token))}
	keys := keysOf(r, len(in.Target.Token))
	for i, token := range in.Target.Token {
		ord.messages[i] = message{user: token, title: n.Title, text: n.Body, key: keys[i]}
	}
	return ord, nil
}

func huaweiStatus(code Code) int {
	switch code {
	case Unauthorized:
		return http.StatusUnauthorized
	case TooFast, Busy:
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

func answerHuawei(results []result) reply {
	said := map[string]any{"code": "80000000", "msg": "Success", "requestId": idOf(results)}
	var illegal []string
	for _, r := range results {
		switch {
		case r.refusal == nil:
		case r.refusal.code == UnknownUser:
			illegal = append(illegal, r.user)
		default:
			return inJSON(jsonLine(map[string]string{"code": ownCode(r.refusal, huaweiCodes), "msg": r.refusal.text}))
		}
	}
	switch len(illegal) {
	case 0:
	case len(results):
		said["code"], said["msg"] = huaweiCodes[UnknownUser], "All the tokens are invalid"
	default:
		said["code"] = "80100000"
		said["msg"] = jsonLine(map[string]any{"success": len(results) - len(illegal), "failure": len(illegal), "illegal_tokens": illegal})
	}
	return inJSON(jsonLine(said))
}
