package config

import (
	"maps"
	"strings"
	"testing"
)

func TestPlacesAreNamesWithURLs(t *testing.T) {
	t.Parallel()
	var got map[string]string
	if err := places(&got, "a=https://a.example, b=http://10.0.0.1:8080"); err != nil || !maps.Equal(got, map[string]string{"a": "https://a.example", "b": "http://10.0.0.1:8080"}) {
		t.Errorf("got %v, %v", got, err)
	}
	for v, want := range map[string]string{"a": "is no NAME=URL", "=https://a.example": "is no NAME=URL", "a=https://a.example,a=https://b.example": "twice", "a=ftp://a.example": "a "} {
		if err := places(&got, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", v, err, want)
		}
	}
}
