package posthouse

// QuietHours are a window of each day in which nothing is sent: what would start in it waits for its end. They hold for all to whom
// their channel or tenant sends, or for some kinds and people alone. What is critical is sent all the same.
type QuietHours struct {
	// From and To are local times such as 22:00 and 08:00. Where To is not after From, it is on the next day. 24:00 is the end of a day.
	From string `json:"from"`
	To   string `json:"to"`
	// Days says on which days the hours begin. Defaults to every day.
	Days QuietDays `json:"days,omitempty"`
	// Calendar is the roster by which days are off: those with nobody on duty. Defaults to Saturdays and Sundays.
	Calendar string `json:"calendar,omitempty"`
	// Kinds are those that the hours hold for, and ExceptKinds those that they do not. Defaults to all, and none.
	Kinds       []string `json:"kinds,omitempty"`
	ExceptKinds []string `json:"except_kinds,omitempty"`
	// Users are the people that the hours hold for, by their ids or addresses. Defaults to everybody.
	Users []string `json:"users,omitempty"`
	// TimeZone is the IANA zone of who has none of their own. Defaults to the channel's.
	TimeZone string `json:"time_zone,omitempty"`
	// Spread is how long after To the last of those start that have waited. Each recipient has a moment of their own. Defaults to 0: all at To.
	Spread Duration `json:"spread,omitempty"`
}

// QuietDays are the days on which quiet hours begin.
type QuietDays string

// The days; left out they are all.
const (
	QuietWorkdays QuietDays = "workdays"
	QuietDaysOff  QuietDays = "days_off"
)

// Valid reports whether they are of those there are, or left out.
func (d QuietDays) Valid() bool { return d == "" || d == QuietWorkdays || d == QuietDaysOff }

// Cap is how many messages one person may get in a sliding window. It is counted at the start of each, and what is known not to have been
// sent is given back. What is critical is sent all the same, and not counted.
type Cap struct {
	Max int      `json:"max"`
	Per Duration `json:"per"`
	// Kinds are those that are counted, together. Defaults to all.
	Kinds []string `json:"kinds,omitempty"`
	// Then is what becomes of a message beyond it. Defaults to defer.
	Then CapThen `json:"then,omitempty"`
}

// CapThen is what becomes of a message beyond a cap.
type CapThen string

// The two.
const (
	CapDefer    CapThen = "defer"    // it waits until the window has room
	CapSuppress CapThen = "suppress" // it is not sent
)

// Valid reports whether it is one of those there are, or left out.
func (t CapThen) Valid() bool { return t == "" || t == CapDefer || t == CapSuppress }
