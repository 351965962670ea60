package limit

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Spaced are the windows by which limits hold: of each first the one that the provider counts, longer by the jitter, and then, where
// what a window lets through is to leave evenly, the short ones that let a burst through at a time.
//
// A call is seen by its provider some time after it was granted, and not each after the same time. Two that are a window apart when they
// are granted are seen less than a window apart where the second was faster. Counted over a window and the jitter, no window that the
// provider sees holds more than it may, as long as no two calls differ by more.
func Spaced(limits []posthouse.Limit) []posthouse.Limit {
	if len(limits) == 0 {
		return nil
	}
	list := make([]posthouse.Limit, 0, 2*len(limits))
	for _, l := range limits {
		w := posthouse.Limit{Max: l.Max, Per: l.Per}
		if l.Jitter != nil {
			w.Per += *l.Jitter
		}
		list = append(list, w)
	}
	for i, l := range limits {
		if l.Burst > 0 && l.Burst < l.Max {
			per := time.Duration(float64(list[i].Per) * float64(l.Burst) / float64(l.Max))
			list = append(list, posthouse.Limit{Max: l.Burst, Per: posthouse.Duration(max(per, minPer))})
		}
	}
	return list
}
