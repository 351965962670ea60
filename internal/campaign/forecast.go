package campaign

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/wire"
)

// mostSteps is how many steps a forecast has at most.
const mostSteps = 48

// steps of a forecast: the shortest of which mostSteps are enough is taken.
func forecastSteps() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, day, 7 * day, 30 * day}
}

// Forecast says how many of n messages leave when, at most: as the limits of the channel and its accounts let them, spread evenly over a
// time where one is given. It is empty where nothing bounds them, and where it takes years.
func Forecast(n int64, ch *state.Channel, template string, spread time.Duration, from time.Time) (posthouse.Duration, []wire.CampaignForecast) {
	list := []wire.CampaignForecast{}
	takes := max(Takes(n, ch, template), spread)
	if n == 0 || takes == 0 {
		return 0, list
	}
	for _, step := range forecastSteps() {
		first := from.Truncate(min(step, time.Hour))
		if from.Add(takes).Sub(first) >= mostSteps*step {
			continue
		}
		for at, gone := first, int64(0); gone < n; at = at.Add(step) {
			by := min(n, leftBy(at.Add(step).Sub(from), n, ch, spread))
			list = append(list, wire.CampaignForecast{At: at.UTC(), Members: by - gone})
			gone = by
		}
		return posthouse.Duration(step), list
	}
	return 0, list
}

// leftBy is how many of n messages have left when some time has passed, at most.
func leftBy(passed time.Duration, n int64, ch *state.Channel, spread time.Duration) int64 {
	most := n
	if passed < spread {
		most = int64(float64(n) * float64(passed) / float64(spread))
	}
	bounded := func(limits []posthouse.Limit, times int64) {
		for _, l := range limits {
			if l.Max > 0 && l.Per > 0 {
				windows := int64((passed + l.Per.Std() - 1) / l.Per.Std())
				if windows <= n/(int64(l.Max)*times) { // else it bounds nothing, and the product might overflow
					most = min(most, windows*int64(l.Max)*times)
				}
			}
		}
	}
	bounded(ch.Settings.Limits, 1)
	accounts := accountLimits(ch)
	for _, limits := range accounts { // each has its share, as Takes has it
		bounded(limits, int64(len(accounts)))
	}
	return most
}
