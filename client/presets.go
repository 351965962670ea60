package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse/wire"
)

// Presets are what is known of providers, for channels to be made of.
type Presets struct{ api *caller }

// List lists them by name, or those in which all words of a search stand.
func (p Presets) List(ctx context.Context, search string) ([]wire.Preset, error) {
	query := url.Values{}
	if search != "" {
		query.Set("search", search)
	}
	page, err := get[wire.Page[wire.Preset]](ctx, p.api, path("presets"), query)
	return page.Items, err
}

// Get reads one, with its files.
func (p Presets) Get(ctx context.Context, name string) (wire.Preset, error) {
	return get[wire.Preset](ctx, p.api, path("presets", name), nil)
}

// Put adds one of the installation's own, or a new version of it.
func (p Presets) Put(ctx context.Context, name string, file wire.PresetFile) (wire.Preset, error) {
	return send[wire.Preset](ctx, p.api, http.MethodPut, path("presets", name), file)
}

// Delete deletes one of the installation's own.
func (p Presets) Delete(ctx context.Context, name string) error {
	_, err := p.api.do(ctx, request{method: http.MethodDelete, path: path("presets", name)})
	return err
}

// Of says how a channel stands to the preset that it was made of.
func (p Presets) Of(ctx context.Context, channel string) (wire.PresetState, error) {
	return get[wire.PresetState](ctx, p.api, path("channels", channel, "preset"), nil)
}
