package deploytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/smtp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

// certify writes tls.crt and tls.key into a folder.
func certify(t *testing.T) (dir string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"post.example.com"}}
	made, err := x509.CreateCertificate(rand.Reader, &text, &text, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: made}, "tls.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// takesMail starts the server with the settings that a deployment gives it for mail, and has it answer STARTTLS. A folder stands here for the one that
// the deployment mounts.
func takesMail(t *testing.T, settings map[string]string, mounted, port string) {
	t.Helper()
	dir, api, mail := certify(t), freeAddr(t), freeAddr(t)
	env := []string{"POSTHOUSE_ADDR=" + api, "POSTHOUSE_DSN=sqlite:posthouse.db", "POSTHOUSE_CREATE=true"}
	given := 0
	for name, value := range settings {
		if !strings.HasPrefix(name, "POSTHOUSE_SMTP_") {
			continue
		}
		given++
		switch rest, within := strings.CutPrefix(value, mounted+"/"); {
		case within:
			value = filepath.Join(dir, rest)
		case value == "0.0.0.0:"+port:
			value = mail
		default:
			t.Errorf("%s is %q: want it below %s, or port %s of all addresses", name, value, mounted, port)
		}
		env = append(env, name+"="+value)
	}
	if given != 3 {
		t.Fatalf("%d settings are of mail, want 3: %v", given, settings)
	}
	serves(t, env, nil, map[string]string{"/readyz": api}, func() {
		c, err := smtp.Dial(mail)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.StartTLS(&tls.Config{InsecureSkipVerify: true}); err != nil { //nolint:gosec // the test made the certificate
			t.Error(err)
		}
	})
}

// Nobody's pods take mail who did not ask for it; who did gets the port, the certificate and a service of its own.
func TestTheChartTakesMailWhereTheValuesSaySo(t *testing.T) {
	t.Parallel()
	plain, full := mustRender(t, least), mustRender(t, all)
	isSMTP := func(p core.ContainerPort) bool { return p.Name == "smtp" }
	without, with := plain.set.Spec.Template.Spec, full.set.Spec.Template.Spec
	if slices.ContainsFunc(without.Containers[0].Ports, isSMTP) || len(plain.services) != 2 || len(full.services) != 3 {
		t.Errorf("by themselves pods listen at %v behind %d services; with mail there are %d", without.Containers[0].Ports, len(plain.services), len(full.services))
	}
	at := slices.IndexFunc(with.Containers[0].Ports, isSMTP)
	if at < 0 || with.Containers[0].Ports[at].ContainerPort != 2587 {
		t.Fatalf("the pods listen at %v", with.Containers[0].Ports)
	}
	for _, s := range full.services {
		if port := s.Spec.Ports[0]; port.Name == "smtp" && (port.Port != 2587 || port.TargetPort.StrVal != "smtp" || s.Spec.Type != core.ServiceTypeLoadBalancer || s.Annotations["a"] != "b") {
			t.Errorf("mail comes by %+v", s)
		}
	}
	secret := ""
	for _, v := range with.Volumes {
		if v.Name == "mail" {
			secret = v.Secret.SecretName
		}
	}
	mounted := ""
	for _, m := range with.Containers[0].VolumeMounts {
		if m.Name == "mail" && m.ReadOnly {
			mounted = m.MountPath
		}
	}
	if secret != "post" || mounted == "" {
		t.Errorf("the secret %q is at %q", secret, mounted)
	}
	settings := map[string]string{}
	for _, e := range with.Containers[0].Env {
		settings[e.Name] = e.Value
	}
	takesMail(t, settings, mounted, "2587")
}

// The second file has both servers take mail, which nginx alone publishes, and to this machine alone as long as nobody says otherwise.
func TestTheComposeFileOfMail(t *testing.T) {
	t.Parallel()
	p := project(t, "compose.mail.yaml")
	set := settings(t)
	for _, name := range []string{"posthouse-1", "posthouse-2"} {
		s := p.Services[name]
		if len(s.Ports) > 0 || len(s.Volumes) != 2 || s.Volumes[1].Source != filepath.Join(p.WorkingDir, "mail") || !s.Volumes[1].ReadOnly || bool(s.Volumes[1].Bind.CreateHostPath) {
			t.Errorf("%s has the ports %v and the folders %v", name, s.Ports, s.Volumes)
		}
		given := map[string]string{}
		for name, value := range s.Environment {
			known(t, set, name)
			given[name] = *value
		}
		if given["POSTHOUSE_DSN"] == "" {
			t.Errorf("%s has lost its settings: %v", name, given)
		}
		if name == "posthouse-1" {
			takesMail(t, given, s.Volumes[1].Target, "2525")
		}
	}
	var published []string
	for _, port := range p.Services["nginx"].Ports {
		published = append(published, port.HostIP+":"+port.Published)
	}
	if want := []string{"127.0.0.1:8080", "127.0.0.1:2525"}; !slices.Equal(published, want) {
		t.Errorf("nginx publishes %v, want %v", published, want)
	}
	main, err := os.ReadFile("../compose/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range p.Services["nginx"].Volumes {
		if strings.HasSuffix(v.Source, "/mail.conf") && !strings.Contains(string(main), "\ninclude "+filepath.Dir(v.Target)+"/*.conf;\n") {
			t.Errorf("nginx does not read %s", v.Target)
		}
	}
}
