package deploytest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const chart = "../helm/posthouse"

// monitor is what the Prometheus operator reads, as far as the chart fills it in.
type monitor struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		JobLabel  string             `json:"jobLabel"`
		Selector  meta.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Path     string `json:"path"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// rendered is what the chart makes, each object read into its type without a field left over.
type rendered struct {
	set      *apps.StatefulSet
	services []*core.Service
	config   *core.ConfigMap
	budget   *policy.PodDisruptionBudget
	ingress  *networking.Ingress
	monitor  *monitor
	notes    string
}

const least = "dsn: {secret: db}\nkeyring: {secret: keys}\nimage: {tag: 1.2.3}\n"

const all = `
image: {repository: registry.example.com/posthouse, tag: 1.2.3, pullSecrets: [{name: pull}]}
replicas: 3
dsn: {secret: db, key: url}
keyring: {secret: keys, key: ring}
apiKey: {secret: first}
config: {time_zone: UTC, keep: 30d, trusted_proxies: "10.0.0.0/8"}
env:
  - name: POSTHOUSE_METRICS_TOKEN
    valueFrom: {secretKeyRef: {name: scrape, key: token}}
persistence: {enabled: true, size: 1Gi, storageClass: fast}
service: {type: LoadBalancer, annotations: {a: b}}
mail: {enabled: true, port: 2587, tlsSecret: post, service: {type: LoadBalancer, annotations: {a: b}}}
ingress: {enabled: true, className: nginx, host: posthouse.example.org, tlsSecret: tls}
metrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}}}
podDisruptionBudget: {enabled: false}
podAnnotations: {a: b}
podLabels: {c: d}
nodeSelector: {e: f}
tolerations: [{key: g, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: high
`

// render has Helm render the chart.
func render(t *testing.T, values string) (rendered, error) {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	full, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "mail", Namespace: "prod", Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, full)
	if err != nil {
		return rendered{}, err
	}
	var out rendered
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			out.notes = text
			continue
		}
		for _, doc := range strings.Split(text, "\n---\n") {
			if strings.TrimSpace(doc) != "" {
				out.add(t, name, doc)
			}
		}
	}
	return out, nil
}

func (r *rendered) add(t *testing.T, name, doc string) {
	t.Helper()
	var is meta.TypeMeta
	if err := yaml.Unmarshal([]byte(doc), &is); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, doc)
	}
	var into any
	switch is.Kind {
	case "StatefulSet":
		r.set = &apps.StatefulSet{}
		into = r.set
	case "Service":
		s := &core.Service{}
		r.services = append(r.services, s)
		into = s
	case "ConfigMap":
		r.config = &core.ConfigMap{}
		into = r.config
	case "PodDisruptionBudget":
		r.budget = &policy.PodDisruptionBudget{}
		into = r.budget
	case "Ingress":
		r.ingress = &networking.Ingress{}
		into = r.ingress
	case "ServiceMonitor":
		r.monitor = &monitor{}
		into = r.monitor
	default:
		t.Fatalf("%s makes a %s, which this test does not know", name, is.Kind)
	}
	if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
		t.Errorf("%s: %v\n%s", name, err, doc)
	}
}

func mustRender(t *testing.T, values string) rendered {
	t.Helper()
	r, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	if r.set == nil || len(r.services) < 2 || r.notes == "" {
		t.Fatalf("the chart makes %+v", r)
	}
	return r
}

func TestHelmsLintFindsNothing(t *testing.T) {
	t.Parallel()
	for _, values := range []string{least, all} {
		given, err := chartutil.ReadValues([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.All(chart, given, "prod", true).Messages {
			if m.Severity > support.InfoSev {
				t.Error(m)
			}
		}
	}
}

// A pod without a root file system to write on, without root and without rights runs the image, whose user is 65532 and whose /data is that user's.
func TestTheServersOfTheChartHaveNoRights(t *testing.T) {
	t.Parallel()
	for _, values := range []string{least, all} {
		pod := mustRender(t, values).set.Spec.Template.Spec
		of := pod.SecurityContext
		c := pod.Containers[0].SecurityContext
		switch {
		case !*of.RunAsNonRoot || *of.RunAsUser != 65532 || *of.RunAsGroup != 65532 || *of.FSGroup != 65532 || of.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault:
			t.Errorf("the pod may %+v", of)
		case !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || !slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}) || len(c.Capabilities.Add) > 0:
			t.Errorf("the container may %+v", c)
		case *pod.AutomountServiceAccountToken:
			t.Error("the pod has a token of the cluster")
		}
		written := map[string]bool{}
		for _, m := range pod.Containers[0].VolumeMounts {
			written[m.MountPath] = !m.ReadOnly
		}
		if !written["/data"] || !written["/tmp"] || written["/etc/posthouse"] {
			t.Errorf("the container may write %v", written)
		}
	}
}

// What the chart names, the program has: its settings, its flags, its paths.
func TestTheProgramKnowsWhatTheChartNames(t *testing.T) {
	t.Parallel()
	r := mustRender(t, all)
	set := settings(t)
	pod := r.set.Spec.Template.Spec.Containers[0]
	for _, e := range pod.Env {
		known(t, set, e.Name)
	}
	config := filepath.Join(t.TempDir(), "posthouse.yaml")
	if err := os.WriteFile(config, []byte(r.config.Data["posthouse.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	api, metrics := freeAddr(t), freeAddr(t)
	env := []string{"POSTHOUSE_ADDR=" + api, "POSTHOUSE_METRICS_ADDR=" + metrics, "POSTHOUSE_DSN=sqlite:posthouse.db", "POSTHOUSE_CREATE=true", "POSTHOUSE_KEYRING=k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
	args := slices.Clone(pod.Args[1:])
	if i := slices.Index(args, "/etc/posthouse/posthouse.yaml"); i < 1 || args[i-1] != "--config" || pod.Args[0] != "serve" {
		t.Fatalf("the arguments are %q", pod.Args)
	} else {
		args[i] = config
	}
	at := map[string]string{r.monitor.Spec.Endpoints[0].Path: metrics}
	for _, probe := range []*core.Probe{pod.StartupProbe, pod.LivenessProbe, pod.ReadinessProbe} {
		if probe.HTTPGet.Port.StrVal != "http" {
			t.Errorf("a probe asks port %v", probe.HTTPGet.Port)
		}
		at[probe.HTTPGet.Path] = api
	}
	if pod.LivenessProbe.HTTPGet.Path != "/healthz" || pod.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("alive is %s, ready is %s", pod.LivenessProbe.HTTPGet.Path, pod.ReadinessProbe.HTTPGet.Path)
	}
	serves(t, env, args, at)
}

// Selectors find what they are for: services and budgets the pods, the monitor the one service that has the metrics' port.
func TestSelectorsOfTheChartFindTheirPods(t *testing.T) {
	t.Parallel()
	for _, values := range []string{least, all} {
		r := mustRender(t, values)
		pods := r.set.Spec.Template.Labels
		finds := func(what string, selector, labels map[string]string) bool {
			for k, v := range selector {
				if labels[k] != v {
					return false
				}
			}
			if len(selector) == 0 {
				t.Errorf("%s selects everything", what)
			}
			return true
		}
		if !finds("the set", r.set.Spec.Selector.MatchLabels, pods) {
			t.Error("the set does not select its pods")
		}
		names := map[string]bool{}
		for _, s := range r.services {
			names[s.Name] = true
			if !finds(s.Name, s.Spec.Selector, pods) {
				t.Errorf("%s does not select the pods", s.Name)
			}
		}
		if !names[r.set.Spec.ServiceName] {
			t.Errorf("the set is served by %s, and there are %v", r.set.Spec.ServiceName, names)
		}
		if r.budget != nil && !finds("the budget", r.budget.Spec.Selector.MatchLabels, pods) {
			t.Error("the budget does not select the pods")
		}
		if r.ingress != nil && !names[r.ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name] {
			t.Error("the ingress leads nowhere")
		}
		if r.monitor == nil {
			continue
		}
		for _, s := range r.services {
			has := slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == r.monitor.Spec.Endpoints[0].Port })
			if finds("the monitor", r.monitor.Spec.Selector.MatchLabels, s.Labels) != has {
				t.Errorf("of %s the monitor has %v, and its metrics' port is there: %v", s.Name, !has, has)
			}
			if s.Labels[r.monitor.Spec.JobLabel] != "posthouse" {
				t.Errorf("%s is scraped as the job %q, and the alerts look for posthouse", s.Name, s.Labels[r.monitor.Spec.JobLabel])
			}
		}
	}
}

func TestWhatTheValuesSayIsMade(t *testing.T) {
	t.Parallel()
	plain, full := mustRender(t, least), mustRender(t, all)
	if got := *plain.set.Spec.Replicas; got != 2 {
		t.Errorf("%d servers, want 2", got)
	}
	if plain.budget == nil || plain.ingress != nil || plain.monitor != nil || plain.config != nil {
		t.Errorf("by themselves there are %+v", plain)
	}
	if full.budget != nil || full.ingress == nil || full.monitor == nil || full.config == nil || *full.set.Spec.Replicas != 3 {
		t.Errorf("with all there are %+v", full)
	}
	if got := full.set.Spec.Template.Spec.Containers[0].Image; got != "registry.example.com/posthouse:1.2.3" {
		t.Errorf("the image is %s", got)
	}
	if bare := mustRender(t, least+"persistence: {enabled: false}\n"); len(bare.set.Spec.VolumeClaimTemplates) != 0 || len(plain.set.Spec.VolumeClaimTemplates) != 1 {
		t.Error("a claim is made where none is wanted, or none where one is")
	}
	secret := func(r rendered, name string) (of core.SecretKeySelector) {
		for _, e := range r.set.Spec.Template.Spec.Containers[0].Env {
			if e.Name == name && e.ValueFrom != nil {
				of = *e.ValueFrom.SecretKeyRef
			}
		}
		return of
	}
	for name, want := range map[string][2]string{"POSTHOUSE_DSN": {"db", "url"}, "POSTHOUSE_KEYRING": {"keys", "ring"}, "POSTHOUSE_API_KEY": {"first", "api-key"}} {
		if got := secret(full, name); got.Name != want[0] || got.Key != want[1] {
			t.Errorf("%s is of %s, %s, want %v", name, got.Name, got.Key, want)
		}
	}
	if got := secret(plain, "POSTHOUSE_API_KEY"); got.Name != "" {
		t.Errorf("a key of the secret %q is wanted", got.Name)
	}
}

func TestAChartThatLacksWhatItNeedsSaysSo(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"keyring: {secret: keys}\nimage: {tag: 1.2.3}\n":         "dsn.secret is wanted",
		"dsn: {secret: db}\nimage: {tag: 1.2.3}\n":               "keyring.secret is wanted",
		"dsn: {secret: db}\nkeyring: {secret: keys}\n":           "image.tag is empty",
		least + "mail: {enabled: true}\n":                        "mail.tlsSecret is wanted",
		"dsn: {secret: ''}\nkeyring: {secret: a}\nreplicas: 1\n": "wanted",
	} {
		if _, err := render(t, values); err == nil || !(strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "image.tag is empty")) {
			t.Errorf("%q: %v, want %q", values, err, want)
		}
	}
}
