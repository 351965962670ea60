package route

import (
	"context"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
)

// lack is a channel on which a step has nothing to say: its own template for it is not there, or is disabled.
type lack struct {
	channel, template string
	disabled          bool
}

// says is what is wrong with it.
func (l lack) says() string {
	if l.disabled {
		return fmt.Sprintf("the template %.80q is disabled", l.template)
	}
	return fmt.Sprintf("there is no template %.80q", l.template)
}

// detail is the same with the channel, as a notification keeps it.
func (l lack) detail() string {
	if l.disabled {
		return fmt.Sprintf("the template %.80q of channel %s is disabled", l.template, l.channel)
	}
	return fmt.Sprintf("the template %.80q of channel %s is not there", l.template, l.channel)
}

// lacks reports whether a step has nothing to say on a channel.
func (p *passed) lacks(channel string) bool {
	return slices.ContainsFunc(p.gone, func(l lack) bool { return l.channel == channel })
}

// lacking lists the channels on which a step has nothing to say now. It sends nothing there until there is a template: this is the one place that
// decides it, for messages that are accepted, previewed or followed, and for the warnings of a route. An alert of a front, whose sender cannot mend
// the route, is told by its own text instead, as where a template does not fit.
func (r *Router) lacking(ctx context.Context, tenant string, s *posthouse.RouteStep) (list []lack, err error) {
	if r.Template == nil {
		return nil, nil
	}
	for _, channel := range s.Channels {
		name := s.TemplateOn(channel)
		if name == "" {
			continue
		}
		t, err := r.Template(ctx, tenant, name)
		if missing := posthouse.CodeOf(err) == posthouse.CodeNotFound; missing || err == nil && t.Disabled {
			list = append(list, lack{channel, name, !missing})
		} else if err != nil {
			return nil, err
		}
	}
	return list, nil
}
