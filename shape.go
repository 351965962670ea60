package posthouse

// Shape is a token bucket: how fast what is of a priority may begin. What finds it empty waits in the queue, in its order.
type Shape struct {
	// Rate is how many deliveries may begin in a second, in each process that sends.
	Rate float64 `json:"rate"`
	// Burst is how many may begin at once after a while in which few did. Defaults to those of a second.
	Burst int `json:"burst,omitempty"`
}

// Most is how many tokens the bucket holds.
func (s Shape) Most() float64 {
	if s.Burst > 0 {
		return float64(s.Burst)
	}
	return max(1, s.Rate)
}

// Shapes are the shapes of tenants by priority; "*" is each tenant that has none of its own for a priority. A rate of 0 lets
// all of it begin at once.
type Shapes map[string]map[Priority]Shape

// EveryTenant names all that are not named.
const EveryTenant = "*"

// Of is the shape of a tenant's priority, and whether it has one.
func (s Shapes) Of(tenant string, p Priority) (Shape, bool) {
	of, named := s[tenant][p]
	if !named {
		of = s[EveryTenant][p]
	}
	return of, of.Rate > 0
}
