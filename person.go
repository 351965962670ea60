package posthouse

import "time"

// Person is somebody who uses the console. People of the directory, whom messages are for, are users.
type Person struct {
	// Name is what the person signs in with.
	Name string `json:"name"`
	// Title is how the person is called on pages. Defaults to the name.
	Title string `json:"title,omitempty"`
	// Roles are what the person may do, by tenant; at most one role a tenant.
	Roles map[string]Role `json:"roles"`
	// Disabled keeps the person out, whatever sessions and links there are.
	Disabled bool `json:"disabled,omitempty"`
	// Password reports whether one is set. It is only shown.
	Password bool `json:"password,omitempty"`
	// TOTP reports whether the person shows a one-time code too. It is only shown.
	TOTP bool `json:"totp,omitempty"`
	// Subject is who the person is at an identity provider, which says title and roles at each sign-in; empty for others. It is
	// only shown.
	Subject string `json:"subject,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// SeenAt is when the person was last there, to about a minute.
	SeenAt time.Time `json:"seen_at,omitzero"`
}

// Role is what a person may do in a tenant.
type Role string

// The roles, each containing the ones before it.
const (
	RoleViewer   Role = "viewer"   // look
	RoleOperator Role = "operator" // and decide about deliveries, pause and resume
	RoleSender   Role = "sender"   // and send messages and campaigns
	RoleAdmin    Role = "admin"    // and everything else
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleSender, RoleAdmin} }
