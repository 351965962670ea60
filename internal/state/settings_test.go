package state

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// What a profile has filled in goes with it; what a person has chosen beside it stays.
func TestAnotherProfileTakesItsOwnDefaultsAlong(t *testing.T) {
	t.Parallel()
	duty := Preset(posthouse.Channel{ChannelSettings: posthouse.ChannelSettings{Profile: "duty", Tries: 5}}).ChannelSettings
	if got := WithoutPreset(duty); got.OnUnknown != "" || got.Every != nil || got.KeepAnswers != nil || got.Rules != nil || got.Tries != 5 {
		t.Errorf("of what duty fills in there is %+v", got)
	}
	at := posthouse.Duration(time.Hour)
	if got := WithoutPreset(posthouse.ChannelSettings{Profile: "duty", OnUnknown: posthouse.Hold, Every: &at}); got.OnUnknown != posthouse.Hold || got.Every != &at {
		t.Errorf("of what a person has chosen there is %+v", got)
	}
}
