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

// zoneWords are the texts of the page of the zone.
func zoneWords() map[string]word {
	return map[string]word{
		"zone_help":   {"Times on all pages are shown in this zone, in this browser. An empty field means the zone of the server:", "此浏览器的所有页面按该时区显示时间。留空则用服务器的时区："},
		"zone_wrong":  {"There is no zone of this name. Names are such as Asia/Shanghai.", "没有这个时区。名称形如 Asia/Shanghai。"},
		"zone_change": {"change", "更改"},
		"save":        {"Save", "保存"},
	}
}
