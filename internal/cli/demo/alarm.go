package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/simulator"
)

// The demo's alarm: a robot posts it in a group. When the group does not acknowledge it, the server calls the person on duty and sends a link,
// by which that person acknowledges it.
const (
	alarmRoute  = "alarm"
	callChannel = "call"
	dutyNumber  = "+8613800138007"
	takesNote   = time.Second // how long the robot's post is waited for
)

// Alarm is what became of the alarm.
type Alarm struct {
	Message      string                 `json:"message"`
	Notification posthouse.Notification `json:"notification"`
}

// startAlarm stores the route and sends by it.
func startAlarm(ctx context.Context, c *client.Client, at provided) (message string, err error) {
	_, _, err = c.Channels.Put(ctx, posthouse.Channel{Name: callChannel, Driver: "sms", ChannelSettings: quick(3), Config: map[string]any{
		"provider": "aliyun", "access_key": "DEMO", "secret": at.smsSecret, "sign": "驿站", "template_id": "TTS_10001", "url": at.simulator + "/sms_aliyun", "voice_url": at.simulator + "/sms_aliyun",
	}})
	if err == nil {
		_, err = c.Users.Put(ctx, posthouse.User{ID: onDuty, Name: "陈静", Addresses: map[string]string{callChannel: dutyNumber, phoneChannel: dutyNumber}})
	}
	for _, t := range []posthouse.Template{
		{Name: "alarm-post", Title: "告警", Text: "${host} 磁盘将满"},
		{Name: "alarm-call", Text: "${host} 磁盘将满"},
		{Name: "alarm-sms", Text: "【驿站】${host} 磁盘将满，确认：${ack_url}"},
	} {
		if err == nil {
			_, err = c.Templates.Put(ctx, t)
		}
	}
	if err == nil {
		_, err = c.Routes.Put(ctx, posthouse.Route{Name: alarmRoute, Steps: []posthouse.RouteStep{
			{Channels: []string{"robot"}, To: []posthouse.Recipient{{User: "ops-group"}}, Template: "alarm-post", Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(takesNote)},
			{
				Channels: []string{callChannel, phoneChannel}, Templates: map[string]string{callChannel: "alarm-call", phoneChannel: "alarm-sms"},
				To: []posthouse.Recipient{{Roster: "duty"}}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(patience),
			},
		}})
	}
	if err != nil {
		return "", fmt.Errorf("store the route of an alarm: %w", err)
	}
	out, err := c.Messages.Send(ctx, posthouse.Draft{Route: alarmRoute, Kind: "alarm", Ref: "db-1", Source: "posthouse demo", Payload: []byte(`{"host": "db-1"}`)})
	if err != nil {
		return "", fmt.Errorf("send by a route: %w", err)
	}
	return out.Accepted[0].ID, nil
}

// linkIn finds the link in a text message, and what is the same in all.
var linkIn = regexp.MustCompile(`(https?://\S+/ack/)\S+`)

// takeNote waits until the link has arrived on a phone, and presses the button of its page as a person would.
func takeNote(ctx context.Context, c *client.Client, sim *simulator.Simulator, message string) (a Alarm, err error) {
	a.Message = message
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for link := ""; link == ""; {
		for _, sms := range onPhones(sim.Phones()) {
			if sms.To == dutyNumber {
				link = linkIn.FindString(sms.Text)
			}
		}
		if link != "" {
			if err := press(waiting, link); err != nil {
				return a, fmt.Errorf("acknowledge the alarm by its link: %w", err)
			}
			break
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
			return a, posthouse.Errorf(posthouse.CodeUnavailable, "no link to acknowledge the alarm has arrived on a phone after %s", patience)
		}
	}
	list, err := c.Notifications.Of(waiting, message)
	if err == nil && (len(list) != 1 || list[0].Ack == nil) {
		err = posthouse.Errorf(posthouse.CodeInternal, "the alarm was acknowledged, and its notification does not say so: %+v", list)
	}
	if err == nil {
		a.Notification = list[0]
	}
	return a, err
}

// press posts the form of a page.
func press(ctx context.Context, link string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, link, strings.NewReader(url.Values{}.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the page answered HTTP %d: %s", res.StatusCode, text)
	}
	return err
}
