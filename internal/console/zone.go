package console

import (
	"net/http"
	"time"
)

// zoneCookie keeps the zone in which somebody reads times: it belongs to the browser, as the language does.
const zoneCookie = "posthouse-zone"

// zoneOf is the zone that the browser keeps, nil for none.
func zoneOf(r *http.Request) *time.Location {
	if c, err := r.Cookie(zoneCookie); err == nil {
		return zoneNamed(c.Value)
	}
	return nil
}

// zoneNamed is a zone by its name, nil where there is none.
func zoneNamed(name string) *time.Location {
	if name == "" || name == "Local" || len(name) > 64 { // the machine's own zone is nobody's
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

// zoneFor is that of the times on the page.
func zoneFor(v *visit) *time.Location {
	if v.local != nil {
		return v.local
	}
	return v.o.Zone
}

// clocks is what the page of the zone shows.
type clocks struct {
	Server string // the zone of the server
	Zones  []string
	Asked  string
	Back   string
	Wrong  bool
}

// usualZones are offered; any other of the zone database can be typed.
func usualZones() []string {
	return []string{
		"Asia/Shanghai", "Asia/Urumqi", "Asia/Hong_Kong", "Asia/Taipei", "Asia/Singapore", "Asia/Tokyo", "Asia/Dubai", "Asia/Kolkata", "Europe/London", "Europe/Berlin",
		"America/New_York", "America/Los_Angeles", "America/Sao_Paulo", "Australia/Sydney", "UTC",
	}
}

func showZone(v *visit) error {
	return v.show("zone", "time_zone", clocks{Server: v.o.Zone.String(), Zones: usualZones(), Asked: zoneFor(v).String(), Back: backTo(v.query("back"))})
}

// chooseZone keeps a zone in the browser; without a name the server's holds again.
func chooseZone(v *visit) error {
	name, back := v.form("zone"), backTo(v.form("back"))
	if name == "" {
		setCookie(v.w, v.r, zoneCookie, "", -1)
		return v.goTo(back)
	}
	if zoneNamed(name) == nil {
		return v.draw(http.StatusUnprocessableEntity, "zone", "time_zone", clocks{Server: v.o.Zone.String(), Zones: usualZones(), Asked: name, Back: back, Wrong: true})
	}
	setCookie(v.w, v.r, zoneCookie, name, int(365*24*time.Hour/time.Second))
	return v.goTo(back)
}
