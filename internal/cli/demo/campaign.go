package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// The demo's campaign: how many followers of an official account get a template message each, over which channel.
const (
	followers       = 2000
	campaignName    = "coupon-a"
	campaignChannel = "wechat"
	callbackToken   = "a-token-of-the-demo"
)

// followerFile is a CSV of the followers. Two have blocked the account, and one stands there twice.
func followerFile() string {
	var b strings.Builder
	b.WriteString("openid,name,sum\n")
	for i := range followers - 2 {
		fmt.Fprintf(&b, "o6_bmjrPTlm6_2sgVt7hM%05d,张三%d,%d\n", i, i, 10+i%90)
	}
	b.WriteString("user-block-1,李四,20\nuser-block-2,王五,30\no6_bmjrPTlm6_2sgVt7hM00000,张三0,10\n")
	return b.String()
}

// hearsBack has the official account and the SMS provider tell the server what became of their messages.
func hearsBack(ctx context.Context, c *client.Client, sim *simulator.Simulator, api string) error {
	path, err := calledAt(ctx, c, campaignChannel)
	if err != nil {
		return err
	}
	if err := sim.CallBack(ctx, "wechat", simulator.Callback{URL: api + path, Token: callbackToken, Receiver: "demo"}); err != nil {
		return err
	}
	if path, err = calledAt(ctx, c, cloudChannel); err != nil {
		return err
	}
	return sim.CallBack(ctx, "sms_aliyun", simulator.Callback{URL: api + path})
}

// calledAt is where a channel's provider calls the server: of a folder that a demo has kept the address that is there, since a channel has few.
func calledAt(ctx context.Context, c *client.Client, channel string) (string, error) {
	there, err := c.Callbacks.List(ctx, channel)
	if err != nil {
		return "", fmt.Errorf("list the callback addresses: %w", err)
	}
	for _, one := range there {
		if one.Account == "" {
			return one.Path, nil
		}
	}
	address, err := c.Callbacks.Create(ctx, channel, "")
	if err != nil {
		return "", fmt.Errorf("make a callback address: %w", err)
	}
	return address.Path, nil
}

// startCampaign makes the campaign, imports the file and starts it. A folder that a demo has kept has one already: this is another.
func startCampaign(ctx context.Context, c *client.Client) (name string, err error) {
	name = campaignName
	for n := 2; err == nil; n++ {
		if _, err = c.Campaigns.Get(ctx, name); err == nil {
			name = fmt.Sprint(campaignName, "-", n)
		}
	}
	if posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return "", fmt.Errorf("start the campaign: %w", err)
	}
	_, err = c.Templates.Put(ctx, posthouse.Template{Name: "coupon", Text: "${name}：减 ${sum} 元", ExternalID: "demo-coupon"})
	if err == nil {
		_, err = c.Campaigns.Create(ctx, wire.CampaignDraft{Name: name, Channel: campaignChannel, Template: "coupon", SegmentSize: 500})
	}
	if err == nil {
		_, err = c.Campaigns.Import(ctx, name, client.Part{Final: true}, strings.NewReader(followerFile()))
	}
	if err == nil {
		_, err = c.Campaigns.Start(ctx, name, false)
	}
	if err != nil {
		return "", fmt.Errorf("start the campaign: %w", err)
	}
	return name, nil
}

// awaitCampaign waits until all are sent to and the account has told of each, or patience ends.
func awaitCampaign(ctx context.Context, c *client.Client, name string) (p wire.CampaignProgress, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := c.Campaigns.Get(waiting, name)
		if p = got.Progress; err == nil && got.State == posthouse.CampaignDone && p.Sent == 0 {
			return p, nil
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
			return p, posthouse.Errorf(posthouse.CodeUnavailable, "the campaign is %s after %s: %d of %d people are not sent to, and of %d nothing was heard",
				got.State, patience, p.Unsent+p.Started, p.Members, p.Sent)
		}
	}
}
