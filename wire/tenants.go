package wire

import "github.com/posthouse/posthouse"

// PutTenant makes a tenant or changes it.
type PutTenant struct {
	Note string `json:"note,omitempty" doc:"For people, up to 255 bytes."`
	// Quota bounds what all keys of the tenant ask for together. Defaults to no bounds.
	Quota posthouse.Quota `json:"quota,omitzero" doc:"What all keys of the tenant may ask for together. Defaults to no bounds."`
	// QuietHours and Caps hold for all of the tenant's channels. Default to none.
	QuietHours []posthouse.QuietHours `json:"quiet_hours,omitempty" doc:"Windows of local time in which nothing starts on any of the tenant's channels. Defaults to none." maxItems:"20"`
	Caps       []posthouse.Cap        `json:"caps,omitempty" doc:"How many messages one person may get by all of the tenant's channels together. Defaults to none." maxItems:"6"`
	// MandatoryKinds and OptionalKinds are those that users of the directory may not switch off, and may on their page.
	MandatoryKinds []string `json:"mandatory_kinds,omitempty" doc:"Kinds that no user of the directory may switch off. Default to none." maxItems:"100"`
	OptionalKinds  []string `json:"optional_kinds,omitempty" doc:"Kinds that the users' page of preferences offers to switch off. Default to none; the kind of the message with the link is always offered." maxItems:"100"`
	// Language is what its people read who have none of their own.
	Language string `json:"language,omitempty" doc:"What its people read who have no language of their own, a BCP 47 tag such as zh. Defaults to that of each template."`
}

// PutTenantOf is all that people say of a tenant, so that a change of one thing leaves the others as they are.
func PutTenantOf(t posthouse.Tenant) PutTenant {
	return PutTenant{Note: t.Note, Quota: t.Quota, Language: t.Language, QuietHours: t.QuietHours, Caps: t.Caps, MandatoryKinds: t.MandatoryKinds, OptionalKinds: t.OptionalKinds}
}

// Tenant is a tenant with what it has.
type Tenant struct {
	posthouse.Tenant
	Holds TenantHolds `json:"holds"`
}

// HoldsAtMost is up to where TenantHolds counts: a number that is so large may be larger.
const HoldsAtMost = 1000

// TenantHolds counts what a tenant has, of each up to HoldsAtMost. What is settled is not counted: it goes when its time is over.
type TenantHolds struct {
	Open          int `json:"open" doc:"Deliveries that are not settled. Each number is counted up to 1,000: there may be more."`
	Outbox        int `json:"outbox" doc:"Rows of the outbox that wait."`
	Plans         int `json:"plans" doc:"Reminders and tasks whose next moment is to come."`
	Campaigns     int `json:"campaigns" doc:"Campaigns that have not finished."`
	Audiences     int `json:"audiences" doc:"Lists of people that campaigns are sent to."`
	Subscriptions int `json:"subscriptions" doc:"Who is told what happens."`
	Keys          int `json:"keys" doc:"Keys that have not ended."`
	Channels      int `json:"channels"`
	Agents        int `json:"agents"`
	Templates     int `json:"templates"`
	Rosters       int `json:"rosters"`
	Users         int `json:"users" doc:"Users of the directory."`
}

// Part is one number of what a tenant has.
type Part struct {
	Name string
	N    int
}

// Parts lists the numbers in the order of their fields.
func (h TenantHolds) Parts() []Part {
	return []Part{
		{"open deliveries", h.Open}, {"rows of the outbox", h.Outbox}, {"reminders and tasks", h.Plans}, {"campaigns", h.Campaigns}, {"audiences", h.Audiences}, {"subscriptions", h.Subscriptions},
		{"keys", h.Keys}, {"channels", h.Channels},
		{"agents", h.Agents}, {"templates", h.Templates}, {"rosters", h.Rosters}, {"users", h.Users},
	}
}
