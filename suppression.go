package posthouse

import "time"

// Suppression says that nothing is sent to an address: who has it has opted out, or it is no longer anybody's.
type Suppression struct {
	Tenant string `json:"-"`
	// Address is as the channel keeps it.
	Address string `json:"address"`
	// Channel is where it holds. Empty for all channels of the tenant.
	Channel string `json:"channel,omitempty"`
	// Reason is in the words of who has stored it.
	Reason string `json:"reason,omitempty"`
	// Source says how it came here.
	Source SuppressionSource `json:"source"`
	// Until is when it ends by itself. Zero for never.
	Until     time.Time `json:"until,omitzero"`
	CreatedAt time.Time `json:"created_at"`
}

// SuppressionSource is how a suppression came here.
type SuppressionSource string

// The sources.
const (
	SuppressedByPerson   SuppressionSource = "api"      // one by one
	SuppressedByImport   SuppressionSource = "import"   // with a file
	SuppressedByCallback SuppressionSource = "callback" // the provider said so
)

// SuppressionSources lists them all.
func SuppressionSources() []SuppressionSource {
	return []SuppressionSource{SuppressedByPerson, SuppressedByImport, SuppressedByCallback}
}
