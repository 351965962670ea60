package local

import (
	"context"
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
	return quietFronts(quiet)
}

func quietFronts(list []posthouse.Front) (out []finding) {
	for _, f := range list {
		detail := "nothing came for a day, last at " + f.LastAt.UTC().Format(time.RFC3339)
		if f.LastAt.IsZero() {
			detail = "nothing has come yet, for a day and more"
		}
		if f.Tenant != posthouse.DefaultTenant {
			detail += " (tenant " + f.Tenant + ")"
		}
		out = append(out, finding{"front " + f.Name, true, detail + ": look whether its sender posts to it"})
	}
	return out
}
