package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// members is a house whose people come in by a real OpenID provider, the library zitadel/oidc with its example's users.
type members struct {
	*house
	provider string
}

func withProvider(t *testing.T) *members {
	t.Helper()
	var serve http.Handler
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve.ServeHTTP(w, r) }))
	t.Cleanup(provider.Close)
	h := open(t, func(o *server.Options) {
		o.OIDC = server.OIDC{
			Issuer: provider.URL, ClientID: "posthouse", ClientSecret: "s3cret", RoleClaim: "preferred_username",
			Roles: []string{"test-user@127.0.0.1=default:operator", "test-user@127.0.0.1=branch:viewer", "nobody=default:admin"},
		}
		o.RequireTOTP = true // whoever comes by a provider has shown there what there was to show
	})
	client := storage.WebClient("posthouse", "s3cret", h.url+"/console/oidc/callback")
	store := storage.NewStorageWithClients(storage.NewUserStore(provider.URL), map[string]*storage.Client{"posthouse": client})
	serve = exampleop.SetupServer(provider.URL, store, nil, false)
	return &members{h, provider.URL}
}

// browser keeps cookies and follows redirects, as one does.
func (m *members) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		m.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: patience}
}

// get is the page at which a browser ends up.
func (m *members) get(b *http.Client, address string) (at *url.URL, status int, body string) {
	m.Helper()
	return m.read(b.Get(address)) //nolint:bodyclose // read closes it
}

func (m *members) read(r *http.Response, err error) (at *url.URL, status int, body string) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		m.Fatal(err)
	}
	return r.Request.URL, r.StatusCode, string(text)
}

var requestID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn goes to the provider from a page, and types name and password there.
func (m *members) signIn(b *http.Client, from, name string) (at *url.URL, status int, body string) {
	m.Helper()
	_, _, page := m.get(b, m.url+"/console/oidc?back="+url.QueryEscape(from))
	id := requestID.FindStringSubmatch(page)
	if id == nil {
		m.Fatalf("the provider asks for nothing: %s", page)
	}
	return m.read(b.PostForm(m.provider+"/login/username", url.Values{"id": {id[1]}, "username": {name}, "password": {"verysecure"}})) //nolint:bodyclose // read closes it
}

func TestAProviderSaysWhoItIs(t *testing.T) {
	m := withProvider(t)
	b := m.browser()
	if _, _, page := m.get(b, m.url+"/console/"); !strings.Contains(page, `href="/console/oidc?back=`) {
		t.Errorf("the sign-in does not lead to the provider: %s", page)
	}
	at, status, body := m.signIn(b, "/console/t/default/search?q=u1", "test-user@127.0.0.1")
	if status != http.StatusOK || at.RequestURI() != "/console/t/default/search?q=u1" {
		t.Fatalf("the sign-in ends at %s with %d: %s", at, status, body)
	}
	p, err := m.api.People.Get(t.Context(), "test-user@127.0.0.1")
	if err != nil || p.Title != "Test User" || p.Roles["default"] != posthouse.RoleOperator || p.Roles["branch"] != posthouse.RoleViewer || p.Subject != m.provider+" id1" || p.Password {
		t.Errorf("the person is %+v, %v", p, err)
	}
	if _, status, _ := m.get(b, m.url+"/console/t/default/audit"); status != http.StatusOK {
		t.Errorf("the audit log for an operator: %d", status)
	}
	if _, status, _ := m.get(b, m.url+"/console/t/default/keys"); status != http.StatusForbidden {
		t.Errorf("the keys for an operator: %d", status)
	}
	if _, status, body := m.signIn(m.browser(), "/console/", "test-user2"); status != http.StatusForbidden || !strings.Contains(body, "oidc_roles") {
		t.Errorf("somebody without a role: %d %s", status, body)
	}
	if _, err := m.api.People.Get(t.Context(), "test-user2"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("somebody without a role is stored, %v", err)
	}
	if _, err := m.api.People.SignOut(t.Context(), p.Name); err != nil {
		t.Error(err)
	}
	if at, _, _ := m.get(b, m.url+"/console/me"); at.Path != "/console/sign-in" {
		t.Errorf("a session that was ended leads to %s", at)
	}
}

// A code counts in the browser that asked for it, and once.
func TestACodeCountsInTheBrowserThatAskedForIt(t *testing.T) {
	m := withProvider(t)
	victim, attacker := m.browser(), m.browser()
	attacker.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/console/oidc/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	_, _, page := m.get(attacker, m.url+"/console/oidc")
	answer, err := attacker.PostForm(m.provider+"/login/username", url.Values{"id": {requestID.FindStringSubmatch(page)[1]}, "username": {"test-user@127.0.0.1"}, "password": {"verysecure"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	callback := answer.Header.Get("Location")
	if !strings.Contains(callback, "/console/oidc/callback?") {
		t.Fatalf("the provider leads to %q", callback)
	}
	if _, status, body := m.get(victim, callback); status != http.StatusUnauthorized {
		t.Errorf("another browser's code: %d %s", status, body)
	}
	m.get(victim, m.url+"/console/oidc") // begins a sign-in of its own, whose state is another
	if _, status, body := m.get(victim, callback); status != http.StatusUnauthorized {
		t.Errorf("another browser's code after an own beginning: %d %s", status, body)
	}
	attacker.CheckRedirect = nil
	if at, status, _ := m.get(attacker, callback); status != http.StatusOK || !strings.HasPrefix(at.Path, "/console/t/") {
		t.Errorf("the browser that asked: %d at %s", status, at)
	}
	if _, status, _ := m.get(attacker, callback); status != http.StatusUnauthorized {
		t.Errorf("the code a second time: %d", status)
	}
}

// Somebody of a provider does not become a person who stands here already.
func TestANameThatIsTakenStaysTaken(t *testing.T) {
	m := withProvider(t)
	if _, err := m.api.People.Put(t.Context(), "test-user@127.0.0.1", wire.PutPerson{Roles: map[string]posthouse.Role{"default": posthouse.RoleAdmin}}); err != nil {
		t.Fatal(err)
	}
	if _, status, body := m.signIn(m.browser(), "/console/", "test-user@127.0.0.1"); status != http.StatusConflict {
		t.Errorf("the sign-in: %d %s", status, body)
	}
	p, err := m.api.People.Get(t.Context(), "test-user@127.0.0.1")
	if err != nil || p.Roles["default"] != posthouse.RoleAdmin || p.Subject != "" {
		t.Errorf("the person is %+v, %v", p, err)
	}
}
