package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user of the image; it has no shell and owns /data alone.
const nobody = 65532

// descriptor names a blob, as the image specification of the Open Container Initiative has it.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platformOf       `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platformOf struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// image makes a tar that is an OCI layout and what docker load reads, at once: both name the same blobs.
func (r release) image(arch, binary string) error {
	layer, err := r.layer(binary)
	if err != nil {
		return err
	}
	packed, err := zipped(layer)
	if err != nil {
		return err
	}
	config, err := json.Marshal(r.config(arch, digest(layer)))
	if err != nil {
		return err
	}
	platform := &platformOf{arch, "linux"}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor{MediaType: "application/vnd.oci.image.config.v1+json", Digest: digest(config), Size: len(config)},
		"layers": []descriptor{{MediaType: "application/vnd.oci.image.layer.v1.tar+gzip", Digest: digest(packed), Size: len(packed)}},
	})
	if err != nil {
		return err
	}
	tag := imageTag(r.version)
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": []descriptor{{MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: digest(manifest), Size: len(manifest), Platform: platform,
			Annotations: map[string]string{"io.containerd.image.name": "docker.io/library/posthouse:" + tag, "org.opencontainers.image.ref.name": tag}}},
	})
	if err != nil {
		return err
	}
	loaded, err := json.Marshal([]map[string]any{{"Config": blob(config), "RepoTags": []string{"posthouse:" + tag}, "Layers": []string{blob(packed)}}})
	if err != nil {
		return err
	}
	text, err := tarOf([]entry{
		{name: "oci-layout", mode: 0o644, text: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, text: index}, {name: "manifest.json", mode: 0o644, text: loaded},
		{name: "blobs/", mode: 0o755}, {name: "blobs/sha256/", mode: 0o755},
		{name: blob(config), mode: 0o644, text: config}, {name: blob(packed), mode: 0o644, text: packed}, {name: blob(manifest), mode: 0o644, text: manifest},
	}, r.at)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "posthouse-"+r.version+"-image-"+arch+".tar"), text, 0o644)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blob(text []byte) string { return "blobs/sha256/" + digest(text)[len("sha256:"):] }

// imageTag is a version as a tag: it may have no plus.
func imageTag(version string) string {
	tag := []byte(version)
	for i, c := range tag {
		if c == '+' {
			tag[i] = '_'
		}
	}
	return string(tag)
}

// layer is the root of the image: the program, who runs it, whom it trusts, and where it writes. Time zones are in the program.
func (r release) layer(binary string) ([]byte, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var roots []byte
	for root := range bundle.Roots() {
		roots = append(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
	}
	return tarOf([]entry{
		{name: "data/", mode: 0o700, own: nobody},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, text: []byte("posthouse:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, text: []byte("posthouse:x:65532:65532:Posthouse:/data:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: roots},
		{name: "posthouse", mode: 0o755, text: program},
		{name: "tmp/", mode: 0o1777},
	}, r.at)
}

func (r release) config(arch, layer string) map[string]any {
	at := r.at.Format(time.RFC3339)
	return map[string]any{
		"created": at, "architecture": arch, "os": "linux",
		"config": map[string]any{
			"User": "65532:65532", "WorkingDir": "/data", "Entrypoint": []string{"/posthouse"}, "Cmd": []string{"serve"},
			"Env":          []string{"PATH=/", "POSTHOUSE_ADDR=0.0.0.0:8080", "POSTHOUSE_DSN=sqlite:/data/posthouse.db", "POSTHOUSE_CREATE=true", "POSTHOUSE_STATE_DIR=/data"},
			"ExposedPorts": map[string]any{"8080/tcp": map[string]any{}}, "Volumes": map[string]any{"/data": map[string]any{}},
			"Healthcheck": map[string]any{"Test": []string{"CMD", "/posthouse", "healthy"}, "Interval": 10 * time.Second, "Timeout": 6 * time.Second, "StartPeriod": 30 * time.Second, "Retries": 3},
			"Labels": map[string]string{
				"org.opencontainers.image.title": "Posthouse", "org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit,
				"org.opencontainers.image.created": at, "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/posthouse/posthouse",
			},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{layer}},
		"history": []map[string]any{{"created": at, "created_by": "make dist"}},
	}
}
