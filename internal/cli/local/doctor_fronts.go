package local

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
)

// quietFor is how long a front may hear nothing before somebody is told: a sender that was set up wrongly looks just like one that has
// nothing to say.
const quietFor = 24 * time.Hour

// examineFronts names the fronts at which nothing came for a day. It is no fault: there may have been nothing to say.
func examineFronts(ctx context.Context, s *store.Store, now time.Time) []finding {
	quiet, err := s.Fronts.QuietFronts(ctx, now.Add(-quietFor))
	if err != nil {
		return []finding{{"fronts", false, err.Error()}}
	}
	all, err := s.Fronts.AllFronts(ctx)
	if err != nil {
		return []finding{{"fronts", false, err.Error()}}
	}
	lost, err := lostFronts(all, func(tenant, channel, route string) error {
		if route != "" {
			_, err := s.Routes.Route(ctx, tenant, route, 0)
			return err
		}
		_, err := s.Channels.Channel(ctx, tenant, channel)
		return err
	})
	if err != nil {
		return []finding{{"fronts", false, err.Error()}}
	}
	for _, f := range all {
		if f.Digest == "" {
			continue
		}
		_, err := s.Digests.Digest(ctx, f.Tenant, f.Digest, 0)
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeNotFound:
			lost = append(lost, nowhere(f, err))
		case err != nil:
			return []finding{{"fronts", false, err.Error()}}
		}
	}
	return append(lost, quietFronts(quiet)...)
}

// nowhere is of a front that names what is not there.
func nowhere(f posthouse.Front, err error) finding {
	return finding{"front " + f.Name, false, fmt.Sprintf("leads nowhere: %s. Its sender is answered 503", err.Error()+ofTenant(f.Tenant))}
}

// lostFronts names the fronts that lead to a channel or a route which is not there: whoever posts to one is told to come again, until it is.
func lostFronts(list []posthouse.Front, find func(tenant, channel, route string) error) (out []finding, err error) {
	for _, f := range list {
		places := []posthouse.FrontMatch{{Channel: f.Channel, Route: f.Route}}
		for _, m := range f.Match {
			if m.Channel != "" || m.Route != "" {
				places = append(places, m)
			}
		}
		for _, m := range places {
			err := find(f.Tenant, m.Channel, m.Route)
			if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
				return nil, err
			}
			if err != nil {
				out = append(out, nowhere(f, err))
			}
		}
	}
	return out, nil
}

// ofTenant names a tenant where it is not the usual one.
func ofTenant(name string) string {
	if name == posthouse.DefaultTenant {
		return ""
	}
	return " (tenant " + name + ")"
}

func quietFronts(list []posthouse.Front) (out []finding) {
	for _, f := range list {
		detail := "nothing came for a day, last at " + f.LastAt.UTC().Format(time.RFC3339)
		if f.LastAt.IsZero() {
			detail = "nothing has come yet, for a day and more"
		}
		out = append(out, finding{"front " + f.Name, true, detail + ofTenant(f.Tenant) + ": look whether its sender posts to it"})
	}
	return out
}
